// The batches that a cache node has to send to its clients: which samples each still waits for, and its
// message as it fills. Pure: others decide where a sample comes from, read it, and send complete batches.
#pragma once

#include <cstddef>
#include <list>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "policies/cache/policy.hpp"
#include "workloads/roles/cache/given_samples.hpp"
#include "workloads/roles/cache/node_batch.hpp"
#include "workloads/roles/cache/sample_read.hpp"

namespace tandem {

class NodeBatches {
 public:
  struct Setting {
    cache::Manifest manifest = {};
    GivenSamples given;
    bool is_real = false;      ///< math
    bool may_replace = false;  ///< a worker may get other samples than those it asked for
    bool has_directory = false;
    bool counts_when_sent = false;  ///< deliveries count when sent; else when the batch is decided
    std::size_t clients = 0;
  };
  /// A batch waits for a sample.
  struct Waiter {
    NodeBatch* batch = nullptr;
    std::size_t position = 0;
    std::string counted;  ///< the row of caches.csv in which it counts; empty for another cache node
  };
  /// Where a sample is read: a place of the data set, or the tier on the disk.
  enum class From : bool { place, tier };

  explicit NodeBatches(const Setting& setting);

  /// Opens a batch behind those of the client that wait for samples. A client has at most as many as it has
  /// requested in advance. The node does not wait for them: a client with a slow link must not delay the
  /// others.
  NodeBatch& open(std::size_t client, NodeJob& job, bool is_for_peer);
  /// Gives each sample its place in the message, after the ids if the message has these.
  void lay_out(NodeBatch& batch, std::span<const cache::Serve> serves);
  /// Fills the place with a sample whose record is in memory, or with a bad one. `record`: empty when math
  /// is modelled.
  void put(NodeBatch& batch, std::size_t position, SampleId given, std::span<const std::byte> record);
  /// The batch has to wait for the sample. `in_vain`: another node was asked for it and does not have it.
  /// True: no other batch waits for it.
  bool wait(From from, SampleId id, const Waiter& waiter, bool in_vain = false);
  /// Where a read of the sample puts it: at its place in a waiting batch. Empty when math is modelled. Pre:
  /// a batch waits.
  std::span<std::byte> target_of(From from, SampleId id) const;
  bool awaits(From from, SampleId id) const { return waiters(from).contains(id); }
  bool is_waiting() const { return !of_places_.empty() || !of_tier_.empty(); }

  /// Delivers the sample at `position` of the read to all batches that wait for it. `row`: where it comes
  /// from. Returns the clients whose batch is complete now.
  std::vector<std::size_t> deliver(From from, const SampleRead& read, std::size_t position,
                                   const std::string& row, Seconds now);
  /// The sample comes from another place than the one that was counted for the batches that wait for it.
  void recount(From from, SampleId id, const std::string& row);
  /// Another node was asked for the sample and does not have it. It comes from the store now.
  void note_peer_miss(SampleId id);

  /// The client's oldest batch, if it is complete: a client gets its batches in the order of its requests.
  std::optional<NodeBatch> take_complete(std::size_t client);
  /// The client is gone.
  void lose(std::size_t client);
  /// Removes batches of clients that are gone, when no read goes into them any more.
  void drop_lost();
  std::size_t clients() const { return batches_.size(); }
  /// Memory for messages.
  SpareRecords& spare() { return spare_; }

 private:
  using Waiters = std::unordered_multimap<SampleId, Waiter>;
  Waiters& waiters(From from) { return from == From::tier ? of_tier_ : of_places_; }
  const Waiters& waiters(From from) const { return from == From::tier ? of_tier_ : of_places_; }
  bool has_ids(const NodeBatch& batch) const { return setting_.may_replace && !batch.is_for_peer; }
  std::span<std::byte> place(NodeBatch& batch, std::size_t position) const;
  void give(NodeBatch& batch, std::size_t position, SampleId given) const;
  bool recount(SampleId id, Waiter& waiter, const std::string& row) const;
  void count_peer_miss(SampleId id, Waiter& waiter) const;
  static void take_out_bad(NodeBatch& batch);

  Setting setting_;
  std::vector<std::list<NodeBatch>> batches_;  ///< by client, in the order of its requests
  std::list<NodeBatch> lost_;
  Waiters of_places_;  ///< for samples in flight
  Waiters of_tier_;    ///< for samples that are read from the tier on the disk
  SpareRecords spare_;
};

}  // namespace tandem
