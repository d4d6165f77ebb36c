// All cache nodes of a job as their parts that decide, with workers that ask at random, in one thread and
// without time: among all that may happen next, a seed chooses. So orders are played that are rare on real
// machines, and none of them waits for anything.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>

#include "policies/cache/directory.hpp"
#include "policies/vocabulary/rng.hpp"
#include "tests/workloads/roles/cache/played_node.hpp"

namespace tandem::testing {

class ServiceWorld {
 public:
  /// `job` must outlive it.
  ServiceWorld(const Job& job, std::uint64_t seed)
      : job_(job),
        rng_(Rng::stream(seed, "world", 0)),
        directory_(job.data().manifest().samples, job.spec().experiment.data.copies) {
    const std::size_t nodes = job.roster().ranks_of(Roster::Role::cache_node).size();
    for (std::size_t node = 0; node < nodes; ++node) {
      nodes_.push_back(std::make_unique<Node>(job, static_cast<int>(node)));
      for (std::size_t worker = 0; worker < nodes_[node]->own.jobs.own().clients; ++worker)
        nodes_[node]->workers.push_back({.rng = Rng::stream(seed, "worker", 10 * node + worker)});
    }
  }

  /// Every worker asks so often, for as many samples at once as a batch has at most.
  void run(int requests) {
    left_ = requests;
    std::vector<std::function<void()>> possible;
    while (true) {
      possible.clear();
      for (auto& node : nodes_) add_events(*node, possible);
      if (possible.empty()) break;
      possible[rng_.below(possible.size())]();
      for (auto& node : nodes_) deliver(*node);
    }
    for (auto& node : nodes_) {
      EXPECT_TRUE(node->own.service.is_idle());
      for (const Worker& worker : node->workers) {
        EXPECT_EQ(worker.sent, requests);
        EXPECT_TRUE(worker.awaited.empty()) << "batches that never came: " << worker.awaited.size();
      }
      node->own.jobs.own().record_background(node->own.service.engine());
      node->own.jobs.own().record_most(node->own.service.engine(), 0);
      for (std::size_t worker = 0; worker < node->workers.size(); ++worker)
        node->own.jobs.own().deliveries.end(worker);
      node->own.journal.complete();
    }
  }
  PlayedNode& node(std::size_t index) { return nodes_[index]->own; }
  std::size_t size() const { return nodes_.size(); }

 private:
  struct Worker {
    Rng rng;
    int sent = 0;
    std::deque<Ids> awaited = {};  ///< the samples of batches that have not come
    bool is_held = false;          ///< until the directory has answered
  };
  struct Answer {
    protocol::Located located;
    std::vector<std::int32_t> locations;
  };
  struct Node {
    Node(const Job& job, int index) : own(job, index), asked(own.places.peers), answered(own.places.peers) {}
    PlayedNode own;
    std::vector<Worker> workers = {};
    std::vector<std::size_t> asked;               ///< by peer: reads for which it has been asked
    std::vector<std::deque<NodeBatch>> answered;  ///< by peer, on their way to this node
    std::deque<Answer> from_directory = {};
  };

  bool has_directory() const { return job_.roster().directory().has_value(); }
  /// Number `peer` of those that the node asks, and the number of the node there.
  Node& peer_of(const Node& node, std::size_t peer) {
    return *nodes_[peer < node.own.places.node ? peer : peer + 1];
  }
  static std::size_t number_at(const Node& peer, const Node& node) {
    return peer.own.places.peer_of(node.own.places.node);
  }

  void add_events(Node& node, std::vector<std::function<void()>>& possible) {
    const auto is_open = [this](const Worker& worker) {
      return worker.sent < left_ || !worker.awaited.empty();
    };
    if (std::ranges::any_of(node.workers, is_open)) node.own.idle();
    for (std::size_t i = 0; i < node.workers.size(); ++i) {
      Worker& worker = node.workers[i];
      if (worker.sent < left_ && worker.awaited.size() < 4 && !worker.is_held)
        possible.emplace_back([this, &node, i] { request(node, i); });
    }
    for (auto& [place, reads] : node.own.reads) {
      if (reads.empty()) continue;
      if (!node.own.places.is_peer(place)) {
        possible.emplace_back([&node, at = place] {
          check_written(node.own, node.own.reads.at(at).front());
          node.own.end(at);
        });
        continue;
      }
      const std::size_t peer = place - node.own.places.first_peer();
      if (!node.answered[peer].empty()) possible.emplace_back([&node, peer] { take_from_peer(node, peer); });
      std::size_t& asked = node.asked[peer];
      Node& other = peer_of(node, peer);
      if (asked < reads.size() && !other.own.service.must_wait(reads[asked].ids))
        possible.emplace_back([&node, &other, &asked, &ids = reads[asked].ids] {
          ++asked;
          other.own.answer(number_at(other, node), ids);
        });
    }
    if (!node.own.to_directory.empty()) possible.emplace_back([this, &node] { serve_directory(node); });
    if (!node.from_directory.empty()) possible.emplace_back([this, &node] { take_from_directory(node); });
  }

  void request(Node& node, std::size_t worker) {
    Worker& own = node.workers[worker];
    const auto batch = static_cast<std::uint64_t>(job_.data().batch());
    Ids ids(1 + own.rng.below(batch));
    for (SampleId& id : ids)
      id = static_cast<SampleId>(own.rng.below(static_cast<std::uint64_t>(job_.data().manifest().samples)));
    own.awaited.push_back(ids);
    decide(node, worker, own.sent++ / 5);
  }
  /// As CacheNode does.
  void decide(Node& node, std::size_t worker, std::int64_t epoch) {
    Worker& own = node.workers[worker];
    const Ids ids = own.awaited.back();
    Ids unknown;
    if (has_directory()) unknown = node.own.service.directory().unknown(worker, ids);
    own.is_held = !unknown.empty();
    if (!own.is_held) {
      node.own.want(worker, ids, epoch);
      return;
    }
    node.own.perform(node.own.service.directory().send_updates());
    node.own.perform(node.own.service.directory().look_up(worker, unknown, epoch, {}));
  }

  /// What the node has sent.
  void deliver(Node& node) {
    for (; !node.own.sent.empty(); node.own.sent.pop_front()) {
      NodeBatch& batch = node.own.sent.front();
      if (batch.is_for_peer) {
        const std::size_t peer = batch.client - node.workers.size();
        Node& asker = peer_of(node, peer);
        asker.answered[number_at(asker, node)].push_back(std::move(batch));
        continue;
      }
      Worker& worker = node.workers[batch.client];
      ASSERT_FALSE(worker.awaited.empty());
      std::span<const std::byte> rest = batch.records;
      for (const SampleId id : worker.awaited.front()) {
        const auto expected = node.own.record(id);
        EXPECT_TRUE(std::ranges::equal(rest.first(expected.size()), expected)) << "sample " << id;
        rest = rest.subspan(expected.size());
      }
      EXPECT_TRUE(rest.empty());
      worker.awaited.pop_front();
      if (has_directory()) node.own.perform(node.own.service.directory().send_updates());
    }
  }
  static void check_written(const PlayedNode& node, const SampleRead& read) {
    for (std::size_t i = 0; read.what == SampleRead::What::to_tier && i < read.ids.size(); ++i)
      EXPECT_TRUE(std::ranges::equal(read.records[i], node.record(read.ids[i]))) << read.ids[i];
  }

  static void take_from_peer(Node& node, std::size_t peer) {
    SampleRead read = node.own.take(node.own.places.first_peer() + peer);
    const NodeBatch batch = std::move(node.answered[peer].front());
    node.answered[peer].pop_front();
    --node.asked[peer];
    const Ids ids = std::exchange(read.ids, {});
    const auto targets = std::exchange(read.targets, {});
    std::span<const std::byte> rest = batch.records;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (!batch.found.has(i)) {
        read.not_here.push_back(ids[i]);
        continue;
      }
      read.ids.push_back(ids[i]);
      read.targets.push_back(targets[i]);
      std::ranges::copy(rest.first(targets[i].size()), targets[i].begin());
      rest = rest.subspan(targets[i].size());
    }
    node.own.end(read);
  }

  void serve_directory(Node& node) {
    const auto message = std::move(node.own.to_directory.front());
    node.own.to_directory.pop_front();
    const int number = static_cast<int>(node.own.places.node);
    if (const auto* const ask = std::get_if<AskDirectory>(&message)) {
      Answer answer;
      for (const SampleId id : ask->ids) {
        const auto [holder, may_keep] = directory_.look_up(id, number);
        answer.locations.push_back(protocol::Location{holder, may_keep}.number());
      }
      answer.located = {.samples = static_cast<std::int32_t>(ask->ids.size()), .moment = directory_.moment()};
      node.from_directory.push_back(std::move(answer));
      return;
    }
    const auto& [ids, note] = std::get<NotifyDirectory>(message);
    if (const auto repair = protocol::as<protocol::Repair>(note.note())) {
      for (const SampleId id : ids) directory_.repair(id, repair->holder, repair->moment);
      return;
    }
    const auto update = protocol::unpack<protocol::Update>(note.note());
    const auto published = static_cast<std::size_t>(update.published);
    for (std::size_t i = 0; i < ids.size(); ++i)
      i < published ? directory_.publish(ids[i], number) : directory_.withdraw(ids[i], number);
  }
  void take_from_directory(Node& node) {
    const Answer answer = std::move(node.from_directory.front());
    node.from_directory.pop_front();
    const auto worker = node.own.service.directory().answer(answer.located, answer.locations, {});
    ASSERT_TRUE(worker.has_value());
    decide(node, *worker, (node.workers[*worker].sent - 1) / 5);
  }

  const Job& job_;
  Rng rng_;
  cache::Directory directory_;
  std::vector<std::unique_ptr<Node>> nodes_;
  int left_ = 0;
};

}  // namespace tandem::testing
