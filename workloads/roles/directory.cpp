#include "workloads/roles/directory.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "policies/vocabulary/check.hpp"

namespace tandem {

DirectoryRole::DirectoryRole(const Job& job, Context& context)
    : context_(context),
      directory_(job.data().manifest().samples, job.spec().experiment.data.copies),
      most_ids_(std::max(static_cast<std::size_t>(job.data().largest_batch()), protocol::Update::most)) {
  for (const Rank node : job.roster().ranks_of(Roster::Role::cache_node)) nodes_.emplace_back().rank = node;
}

void DirectoryRole::run() {
  std::vector<Pending> wait;
  for (Node& node : nodes_) wait.push_back(listen(node));
  for (std::size_t open = nodes_.size(); open > 0;) {
    const Completion ended = context_.wait_any(wait);
    if (protocol::holds<protocol::End>(ended.note)) {
      --open;
      continue;
    }
    serve(ended.index, ended.note);
    wait[ended.index] = listen(nodes_[ended.index]);
  }
  for (Node& node : nodes_)
    for (Answer& answer : node.answers) context_.wait(answer.send);
}

Pending DirectoryRole::listen(Node& node) {
  node.ids.resize(most_ids_);
  return context_.receive(node.rank, protocol::directory,
                          {Bytes(static_cast<std::int64_t>(most_ids_ * sizeof(SampleId))),
                           reinterpret_cast<std::byte*>(node.ids.data())});
}

void DirectoryRole::serve(std::size_t number, const Note& note) {
  if (protocol::holds<protocol::LookUp>(note))
    return look_up(number, protocol::unpack<protocol::LookUp>(note));
  const std::span<const SampleId> ids = nodes_[number].ids;
  if (protocol::holds<protocol::Repair>(note)) {
    const auto repair = protocol::unpack<protocol::Repair>(note);
    return work(Work::Kind::push, static_cast<std::size_t>(repair.samples), [&] {
      for (const SampleId id : ids.first(static_cast<std::size_t>(repair.samples)))
        directory_.repair(id, repair.holder, repair.moment);
    });
  }
  const auto update = protocol::unpack<protocol::Update>(note);
  const auto published = static_cast<std::size_t>(update.published);
  const auto withdrawn = static_cast<std::size_t>(update.withdrawn);
  work(Work::Kind::push, published + withdrawn, [&] {
    const int node = static_cast<int>(number);
    for (const SampleId id : ids.first(published)) directory_.publish(id, node);
    for (const SampleId id : ids.subspan(published, withdrawn)) directory_.withdraw(id, node);
  });
}

void DirectoryRole::look_up(std::size_t number, const protocol::LookUp& asked) {
  Node& node = nodes_[number];
  while (!node.answers.empty() && context_.is_done(node.answers.front().send)) {
    context_.wait(node.answers.front().send);
    node.answers.pop_front();
  }
  const auto samples = static_cast<std::size_t>(asked.samples);
  Answer& answer = node.answers.emplace_back();
  work(Work::Kind::reply, samples, [&] {
    for (const SampleId id : std::span(node.ids).first(samples)) {
      const auto [holder, may_keep] = directory_.look_up(id, static_cast<int>(number));
      answer.locations.push_back(protocol::Location{holder, may_keep}.number());
    }
  });
  answer.send = context_.send(
      node.rank, protocol::holders,
      {Bytes(static_cast<std::int64_t>(samples * sizeof(std::int32_t))),
       reinterpret_cast<std::byte*>(answer.locations.data())},
      protocol::pack(protocol::Located{.samples = asked.samples, .moment = directory_.moment()}));
}

/// The price is that of a server (directory_cost.hpp): an update is a push, an answer a reply, and each of
/// their ids is a tensor.
void DirectoryRole::work(Work::Kind kind, std::size_t ids, Kernel kernel) {
  const auto size = Bytes(static_cast<std::int64_t>(ids * sizeof(SampleId)));
  Pending working =
      context_.compute({.kind = kind, .bytes = size, .tensors = static_cast<int>(ids)}, std::move(kernel));
  context_.wait(working);
}

}  // namespace tandem
