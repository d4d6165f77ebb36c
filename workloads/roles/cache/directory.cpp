#include "workloads/roles/cache/directory.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/job/plan/departing_nodes.hpp"

namespace tandem {

DirectoryRole::DirectoryRole(const Job& job, Context& context)
    : context_(context),
      directory_(job.data().manifest().samples, job.spec().experiment.data.copies),
      most_ids_(std::max(static_cast<std::size_t>(job.data().largest_batch()), protocol::Update::most)) {
  for (const Rank node : job.roster().ranks_of(Roster::Role::cache_node)) nodes_.emplace_back().rank = node;
  if (!departing_cache_nodes(job).empty()) steward_ = job.roster().steward();
}

void DirectoryRole::run() {
  open_ = nodes_.size();
  wait_.resize(nodes_.size() + (steward_ ? 1 : 0));
  if (steward_) wait_.back() = protocol::receive<"membership">(context_, *steward_);
  for (std::size_t node = 0; node < nodes_.size(); ++node) listen(node);
  while (open_ > 0 || (steward_ && !no_more_join_)) {
    const Completion ended = context_.wait_any(wait_);
    if (ended.index < nodes_.size())
      on_message(ended.index, ended);
    else
      on_membership(ended.note);
  }
  for (Node& node : nodes_)
    for (Answer& answer : node.answers) context_.wait(answer.send);
  if (steward_) end_membership();
}

void DirectoryRole::listen(std::size_t number) {
  Node& node = nodes_[number];
  node.ids.resize(most_ids_);
  wait_[number] =
      protocol::receive<"directory">(context_, node.rank,
                                     {Bytes(static_cast<std::int64_t>(most_ids_ * sizeof(SampleId))),
                                      reinterpret_cast<std::byte*>(node.ids.data())});
}

void DirectoryRole::on_message(std::size_t number, const Completion& ended) {
  Node& node = nodes_[number];
  if (node.is_joining) return advance_join(number, ended);
  if (protocol::as<protocol::End>(ended.note)) {
    node.has_ended = true;
    --open_;
    return;
  }
  serve(number, ended.note);
  listen(number);
}

void DirectoryRole::serve(std::size_t number, const Note& note) {
  if (const auto asked = protocol::as<protocol::LookUp>(note)) return look_up(number, *asked);
  const std::span<const SampleId> ids = nodes_[number].ids;
  if (const auto repair = protocol::as<protocol::Repair>(note))
    return work(Work::Kind::push, static_cast<std::size_t>(repair->samples), [&] {
      for (const SampleId id : ids.first(static_cast<std::size_t>(repair->samples)))
        directory_.repair(id, repair->holder, repair->moment);
    });
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
  answer.send = protocol::send<"holders">(
      context_, node.rank, protocol::Located{.samples = asked.samples, .moment = directory_.moment()},
      {Bytes(static_cast<std::int64_t>(samples * sizeof(std::int32_t))),
       reinterpret_cast<std::byte*>(answer.locations.data())});
}

/// The price is that of a server (directory_cost.hpp): an update is a push, an answer a reply, and each of
/// their ids is a tensor.
void DirectoryRole::work(Work::Kind kind, std::size_t ids, Kernel kernel) {
  const auto size = Bytes(static_cast<std::int64_t>(ids * sizeof(SampleId)));
  Pending working =
      context_.compute({.kind = kind, .bytes = size, .tensors = static_cast<int>(ids)}, std::move(kernel));
  context_.wait(working);
}

// ---- Nodes that depart and join ----

void DirectoryRole::on_membership(const Note& note) {
  if (const auto departed = protocol::as<protocol::NodeDeparted>(note)) {
    on_departed(static_cast<std::size_t>(departed->node));
  } else if (const auto joined = protocol::as<protocol::NodeJoined>(note)) {
    const auto number = static_cast<std::size_t>(joined->node);
    ++open_;
    nodes_[number].begin(joined->incarnation);
    advance_join(number, {});
  } else if (protocol::as<protocol::End>(note)) {
    no_more_join_ = true;
  }
  // Workers that come and go send it no requests.
  wait_.back() = protocol::receive<"membership">(context_, *steward_);
}

void DirectoryRole::on_departed(std::size_t number) {
  directory_.remove(static_cast<int>(number));
  Node& node = nodes_[number];
  // It may have ended by itself.
  if (node.has_ended && !node.is_joining) return;
  constexpr int only_one = 1;
  node.leave(context_, wait_[number], only_one);
  --open_;
}

void DirectoryRole::advance_join(std::size_t number, const Completion& last) {
  constexpr int only_one = 1;
  if (nodes_[number].advance(context_, last, wait_[number], only_one) == JoiningClient::Join::joined)
    listen(number);
}

void DirectoryRole::end_membership() {
  for (Node& node : nodes_) context_.wait_all(node.draining);
  Pending end = protocol::send<"ends-of-job">(context_, *steward_, protocol::End{});
  context_.wait(end);
  context_.cancel(wait_.back());
  context_.wait(wait_.back());
}

}  // namespace tandem
