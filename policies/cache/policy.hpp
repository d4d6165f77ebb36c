// The interface of every cache policy: events of a cache node in, decisions out. A policy chooses which
// sample is delivered, which are read and which are kept. The node owns the bytes. The cache engine
// (workloads/data/cache_engine.hpp) does the accounting. No clock, I/O or global state; ties are broken by
// id or by order of insertion.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "policies/cache/replay.hpp"
#include "policies/vocabulary/catalog.hpp"
#include "policies/vocabulary/units.hpp"

namespace tandem::cache {

// ---- Places and reasons ----

enum class Where : std::uint8_t { tier, peer, store };

/// A tier of the node, another node, or a store.
struct Place {
  Where where = Where::store;
  std::int16_t number = 0;
  bool operator==(const Place&) const = default;
};
constexpr Place tier(int number) { return {Where::tier, static_cast<std::int16_t>(number)}; }
constexpr Place peer(int node) { return {Where::peer, static_cast<std::int16_t>(node)}; }
constexpr Place store(int number = 0) { return {Where::store, static_cast<std::int16_t>(number)}; }

/// Why a sample is read: a consumer waits for it, or in the background.
enum class Why : std::uint8_t { demand, prefetch, package, refill, warm_up };
inline constexpr int why_count = 5;
inline constexpr std::array<const char*, why_count> why_names = {"demand", "prefetch", "package", "refill",
                                                                 "warm-up"};

// ---- Events ----

struct Sample {
  SampleId id = 0;
  Bytes size{0};
};

/// A job wants one batch.
struct Want {
  int job = 0;
  std::int64_t epoch = 0;
  std::span<const Sample> now;             ///< to deliver, in order
  std::span<const SampleId> ahead = {};    ///< the rest of the asking worker's epoch, in order
  std::span<const std::uint8_t> low = {};  ///< L flags of `now`; empty: all are H
};

/// A read ended.
struct Arrived {
  /// not_here: the peer does not hold it; gone: the store has it no longer; bad: its checksum is wrong.
  enum class Outcome : std::uint8_t { here, not_here, gone, bad };
  SampleId id = 0;
  Bytes size{0};
  Place from;
  Why why = Why::demand;
  Outcome outcome = Outcome::here;
};

/// An epoch of a job begins.
struct EpochBegins {
  int job = 0;
  std::int64_t epoch = 0;
  /// The samples that each node will want, in order; empty: not known before. Valid during the event only.
  std::span<const std::vector<SampleId>> lists = {};
  std::span<const std::uint8_t> low = {};  ///< L flags by id; empty: all are H
  /// How many of the first samples of this node's list are not wanted any more: the node, or the job, begins
  /// in the middle of the epoch.
  std::int64_t taken = 0;
};

/// A job starts, ends, or was measured: `benefit` is the share of its step time that a cache saves. For the
/// measurement, the job bypasses the tiers for some batches, and returns to them (bypass.hpp).
struct JobChange {
  enum class State : std::uint8_t { starts, probed, ends, bypasses, returns };
  int job = 0;
  State state = State::starts;
  double benefit = 0.0;
};

/// Another node joins with empty tiers, or departs. All nodes are there as a policy begins.
struct PeerChange {
  int node = 0;
  bool joins = false;
};

/// The node that holds a sample now; -1: none.
struct Holder {
  SampleId id = 0;
  int node = -1;
};

// ---- Decisions ----

/// The sample that is delivered for a wanted one. If `given` differs from `asked`, it replaces it
/// permanently (substituted), or the two change places in the order of the epoch (swapped).
struct Serve {
  SampleId asked = 0;
  SampleId given = 0;
  Place from;
  bool swapped = false;
};

/// One read in the background of `count` samples: one request to the disk. Samples that were served from a
/// peer or a store are read on demand without a Fetch.
struct Fetch {
  std::uint32_t first = 0;  ///< in Decisions::ids
  std::uint32_t count = 0;
  Place from;
  Why why = Why::prefetch;
  /// Samples after those in Decisions::ids that come with a package, and are here or being read: the engine
  /// leaves them out of `count`.
  std::uint32_t others = 0;
};

/// Copies `count` samples into one package of the store. From then on one request reads them.
struct Pack {
  std::uint32_t first = 0;  ///< in Decisions::ids
  std::uint32_t count = 0;
};

inline constexpr std::int16_t outside = -1;

/// Keeps a sample in a tier, drops it (`to` is outside) or moves it. A sample that is kept before it arrived
/// has its bytes reserved. Samples may change places, so tiers have room when all moves of an event are made.
struct Move {
  SampleId id = 0;
  Bytes size{0};
  std::int16_t from = outside;
  std::int16_t to = outside;
};

/// Used again for each event, so nothing is allocated once its vectors are large enough.
struct Decisions {
  std::vector<Serve> serve;  ///< one for each sample of Want::now, in order
  std::vector<Fetch> fetch;
  std::vector<Pack> pack;
  std::vector<SampleId> ids;  ///< of `fetch` and `pack`
  std::vector<Move> move;     ///< to be made in this order
  std::vector<SampleId> published;
  std::vector<SampleId> withdrawn;

  void clear() {
    serve.clear();
    fetch.clear();
    pack.clear();
    ids.clear();
    move.clear();
    published.clear();
    withdrawn.clear();
  }
  void keep(SampleId id, Bytes size, int in = 0) {
    move.push_back({id, size, outside, static_cast<std::int16_t>(in)});
  }
  void drop(SampleId id, Bytes size, int from = 0) {
    move.push_back({id, size, static_cast<std::int16_t>(from), outside});
  }
  void read(SampleId id, Place from, Why why) { read(std::span(&id, 1), from, why); }
  /// One request.
  void read(std::span<const SampleId> samples, Place from, Why why) {
    fetch.push_back(
        {static_cast<std::uint32_t>(ids.size()), static_cast<std::uint32_t>(samples.size()), from, why});
    ids.insert(ids.end(), samples.begin(), samples.end());
  }
  void write_package(std::span<const SampleId> samples) {
    pack.push_back({static_cast<std::uint32_t>(ids.size()), static_cast<std::uint32_t>(samples.size())});
    ids.insert(ids.end(), samples.begin(), samples.end());
  }
  /// Of a Fetch or Pack.
  template <class Range>
  std::span<const SampleId> ids_of(const Range& range) const {
    return std::span(ids).subspan(range.first, range.count);
  }
};

// ---- Setting ----

/// The samples of a data set; ids are 0 to `samples` - 1.
struct Manifest {
  std::int64_t samples = 0;
  Bytes each{0};                               ///< size of every sample, unless `sizes` has it
  std::span<const Bytes> sizes = {};           ///< by id; empty: all have the same size
  std::span<const std::uint16_t> labels = {};  ///< class by id; empty: unknown

  Bytes size_of(SampleId id) const { return sizes.empty() ? each : sizes[static_cast<std::size_t>(id)]; }
  Bytes total() const {
    if (sizes.empty()) return each * samples;
    Bytes sum{0};
    for (const Bytes size : sizes) sum += size;
    return sum;
  }
};

/// Time of a read of n bytes: latency + n / bandwidth.
struct Rate {
  BytesPerSecond bandwidth{0};
  Seconds latency{0};
  Seconds time_of(Bytes size) const { return latency + size / bandwidth; }
};
/// The costs of reads, as data for policies that choose the fastest place; not a clock.
struct Rates {
  std::vector<Rate> tiers;
  Rate peer;
  Rate store;
};

/// The samples that each node will want, if the seed alone determines them.
class Plan {
 public:
  virtual ~Plan() = default;
  virtual std::int64_t epochs() const = 0;
  /// In order of use.
  virtual void list(int job, std::int64_t epoch, int node, std::vector<SampleId>& ids) const = 0;
};

struct Setting {
  std::vector<Bytes> tiers;  ///< capacity of each, the fastest first; at least one
  int node = 0;
  int nodes = 1;
  int jobs = 1;
  Manifest manifest = {};
  const Rates* rates = nullptr;
  const Plan* plan = nullptr;
  std::uint64_t seed = 1;  ///< for policies that draw numbers
  Options options = {};

  Bytes capacity() const { return tiers.front(); }
};

/// Deterministic: the same events lead to the same decisions. A sample larger than a tier is never kept in
/// it. Decisions are appended; the caller clears them.
class CachePolicy {
 public:
  virtual ~CachePolicy() = default;
  virtual void on_want(const Want& want, Decisions& decisions) = 0;
  virtual void on_arrived(std::span<const Arrived> arrived, Decisions& decisions) = 0;
  virtual void on_epoch(const EpochBegins&, Decisions&) {}
  /// `losses`: by id, of a job; NaN: not visited.
  virtual void on_importance(int /*job*/, std::span<const float> /*losses*/, Decisions&) {}
  virtual void on_job(const JobChange&, Decisions&) {}
  virtual void on_peer(const PeerChange&, Decisions&) {}
  virtual void on_directory(std::span<const Holder>, Decisions&) {}
  /// Reads in the background may begin, of at most `room` bytes.
  virtual void on_idle(Bytes /*room*/, Decisions&) {}
  /// Whether a tier holds the sample, or will hold it when its read has ended. Answers peers and samplers.
  virtual bool holds(SampleId id) const = 0;
  /// Bytes kept in a tier; never above its capacity.
  virtual Bytes used(int tier = 0) const = 0;
};

/// Data that a policy needs in addition to the requests. A user of policies that cannot provide it refuses
/// the policy.
struct Needs {
  bool manifest = false;    ///< Setting::manifest
  bool ahead = false;       ///< Want::ahead; the job accepts swapped samples
  bool importance = false;  ///< on_importance
  bool lists = false;       ///< on_epoch has the lists of all nodes
  bool plan = false;        ///< Setting::plan
  bool rates = false;       ///< Setting::rates
  bool peers = false;       ///< reads from peers are possible
  bool idle = false;        ///< on_idle: reads in the background
  bool labels = false;      ///< Manifest::labels
  bool operator==(const Needs&) const = default;
};

/// "losses, reads in the background": the data that is needed.
std::string describe(const Needs& needs);

/// What can be made of a policy: a cache of a node, a replay.
struct Factory {
  /// For a cache node; null: only traces.
  std::unique_ptr<CachePolicy> (*node)(const Setting&) = nullptr;
  /// For a trace; null: the policy needs more than one order of requests.
  Replay replay = nullptr;
  bool knows_future = false;   ///< the trace must have the next request of each
  Needs needs = {};            ///< of `node`
  bool replaces = false;       ///< a node may deliver other samples than the wanted ones
  bool plans_one_job = false;  ///< it plans with the lists of one job, so several jobs cannot share it
  /// Deals the samples of each step again among the nodes. So all nodes with workers have equally many
  /// workers, and no checkpoint knows which worker got which sample.
  bool deals_steps = false;
  /// Where a directory knows what nodes hold, a node keeps only what it may, and publishes and withdraws
  /// samples, as a cache of share_by_directory (shared.hpp), although it needs more than requests.
  bool follows_directory = false;
  /// As many read in the background, concurrently with demand, as the policy was published with, unless the
  /// user says when; 0: such reads wait until no batch waits.
  int loaders = 0;
};
/// The policies of cache nodes.
const Catalog<Factory>& catalog();
/// The policies that can replay traces.
const Catalog<Factory>& trace_catalog();

}  // namespace tandem::cache
