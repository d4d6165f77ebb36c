#include "workloads/roles/server/server_order.hpp"

#include <utility>
#include <variant>

namespace tandem {
namespace {

/// Only a worker that reports to a server, or joins there, sends other events; both go to the first server.
int sender_of(const WorkerLines::Event& event) {
  if (const auto* left = std::get_if<WorkerLines::Left>(&event)) return left->worker;
  return std::get<WorkerLines::Pushed>(event).worker;
}

/// None: an event about which the first server decides alone.
std::optional<protocol::Decided> announced(const sync::ServerEvent& event) {
  if (const auto* push = std::get_if<sync::Push>(&event))
    return protocol::Decided{.worker = push->worker, .now = push->now, .done = push->done};
  if (const auto* left = std::get_if<sync::Left>(&event))
    return protocol::Decided{.worker = left->worker, .now = left->now};
  return std::nullopt;
}

}  // namespace

ServerOrder::ServerOrder(Context& context, std::span<const Rank> servers, std::size_t workers)
    : context_(context), order_(workers), sends_(context) {
  if (servers.empty()) return;
  if (servers.front() == context.rank())
    others_.assign(servers.begin() + 1, servers.end());
  else
    first_ = servers.front();
}

WorkerLines::Event ServerOrder::next(WorkerLines& lines, bool only_steward) {
  if (!follows()) return lines.next(only_steward);
  while (true) {
    if (auto due = order_.take()) {
      decided_ = due->decided;
      return std::move(due->event);
    }
    // As long as a worker has not ended, another decision comes.
    if (order_.awaits_decision() && lines.other().empty())
      lines.other() = protocol::receive<"decisions">(context_, *first_);
    WorkerLines::Event event = lines.next(false);
    if (const auto* of_first = std::get_if<WorkerLines::OfOther>(&event)) {
      order_.decide(protocol::unpack<protocol::Decided>(of_first->note));
      continue;
    }
    const int worker = sender_of(event);
    order_.arrive(worker, std::move(event));
  }
}

void ServerOrder::announce(const sync::ServerEvent& event) {
  if (others_.empty()) return;
  const auto decided = announced(event);
  if (!decided) return;
  for (const Rank other : others_) sends_.add(protocol::send<"decisions">(context_, other, *decided));
}

}  // namespace tandem
