// Where samples are read that no tier of a node holds: from a disk of this rank's host, or from a store on
// another rank (from other cache nodes: peer_source.hpp). Several stores stripe the samples by their ids.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "workloads/context.hpp"
#include "workloads/data/sample_source.hpp"
#include "workloads/data/tier_file.hpp"
#include "workloads/files/file_transfer.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/membership/departing_server.hpp"
#include "workloads/roles/cache/given_samples.hpp"
#include "workloads/roles/cache/sample_read.hpp"

namespace tandem {

/// Most samples of one read from a store: a batch, or a read of the policy in the background.
inline std::size_t most_samples_of_read(const DataPlan& data) {
  const int package = data.cache_factory().needs.manifest ? 1024 : 0;
  return static_cast<std::size_t>(std::max(data.largest_batch(), package));
}

/// Reads end in the order in which they begin. Usually they begin in the order in which they were added.
class SampleReads {
 public:
  virtual ~SampleReads() = default;
  virtual void add(SampleRead read) = 0;
  /// Puts an operation of the oldest read into `wait`, if that is empty and there is a read.
  virtual void put_next(Pending& wait) = 0;
  /// The operation of put_next has ended. Called before `finish`.
  virtual void on_ended(const Completion& /*ended*/) {}
  /// The oldest read; nullopt: other operations of it have not ended. Does not wait for those. Pre: the
  /// operation of put_next has ended, and was waited for.
  virtual std::optional<SampleRead> finish() = 0;
  /// A read that ends without an operation, because its rank is not there; nullopt: there is none.
  virtual std::optional<SampleRead> take_refused() { return std::nullopt; }
  /// No read follows. `last`: the operation of put_next that has not ended, or empty. Pre: all reads have
  /// ended; writes into a tier may be in progress.
  virtual void close(Pending& last) = 0;
};

/// Whether each target follows the one before it in memory.
bool is_one_piece(const std::vector<std::span<std::byte>>& targets);

/// Number of requests that the first disk of the rank's host serves at the same time. For a cache node that
/// reads a mounted storage itself, the number of requests that it makes at the same time.
int parallel_requests(const Job& job, Rank rank);

/// The first disk of this rank's host, with samples of the data set and the tier of a cache. Each sample of
/// an access is a request to the disk. The disk transfers as many parts of an access at the same time as it
/// serves. Accesses begin one after the other. If the disk serves several requests at the same time, reads
/// of the data set begin before earlier ones have ended, so that the disk always has requests to serve.
class DiskSource : public SampleReads {
 public:
  /// `parallel`: requests that the disk serves at the same time, at least 1. `samples` and `tier`: null when
  /// math is modelled. `continues`: a sample that cannot be read, or differs from the data set, is marked as
  /// failed; otherwise it ends the read with a WorldError. The arguments must outlive it.
  DiskSource(Context& context, const cache::Manifest& manifest, int parallel, const SampleSource* samples,
             TierFile* tier = nullptr, bool continues = false)
      : context_(context),
        manifest_(manifest),
        parallel_(static_cast<std::size_t>(parallel)),
        samples_(samples),
        tier_(tier),
        continues_(continues) {}
  void add(SampleRead read) override;
  void put_next(Pending& wait) override;
  std::optional<SampleRead> finish() override;
  void close(Pending& last) override;
  /// Removes the sample from the tier, after the accesses that were added before.
  void remove(SampleId id);
  /// The reader (SampleRead::reader) is gone: its reads that have not begun are dropped. Returns how many.
  std::size_t drop_reads_of(std::size_t reader);
  /// Bytes of the writes that were added and have not ended.
  Bytes to_write() const { return to_write_; }

 private:
  struct Access {
    SampleRead read;
    std::vector<SampleId> removed = {};  ///< after it
    bool has_begun = false;
    std::vector<Pending> parts = {};  ///< but the one that put_next has given
  };
  void begin_next();
  void begin(Access& access);
  void begin_part(Access& of, std::size_t begin, std::size_t end);
  Kernel transfer(SampleRead& read, std::size_t begin, std::size_t end);
  std::optional<FileTransfer> file_transfer(SampleRead& read, std::size_t begin, std::size_t end);
  bool is_right(const SampleRead& read, std::size_t position, const PlannedRead& planned,
                std::int64_t result) const;
  void read_sample(SampleRead& read, std::size_t position) const;

  Context& context_;
  const cache::Manifest& manifest_;
  std::size_t parallel_;
  const SampleSource* samples_;
  TierFile* tier_;
  bool continues_;
  std::list<Access> accesses_;  ///< the first ones have begun, and stay where they are
  Bytes to_write_{0};
};

/// A store on another rank. All reads are requested immediately. The store makes one after the other, and
/// sends one while it reads the next. If the store may depart, reads wait until it is there again.
class StoreSource : public SampleReads {
 public:
  StoreSource(Context& context, Rank store, const GivenSamples& given)
      : context_(context), store_(context, store), given_(given) {}
  void add(SampleRead read) override;
  void put_next(Pending& wait) override;
  void on_ended(const Completion& ended) override { ended_ = ended; }
  std::optional<SampleRead> finish() override;
  void close(Pending& last) override;
  /// The store has departed: reads in progress are requested again later.
  void depart();
  /// Another store of incarnation `store` has come. `own`: incarnation of this rank.
  void join(int own, int store) { store_.join(own, store); }

 private:
  struct Request {
    SampleRead read;
    /// If the samples go to different places, or are followed by GivenSamples.
    std::vector<std::byte> records = {};
    Pending sent = {};
    Pending data = {};
  };
  void ask(Request& request);

  Context& context_;
  DepartingServer store_;
  GivenSamples given_;
  std::deque<Request> requests_;
  std::vector<Pending> lost_;  ///< operations with the departed store
  bool awaits_store_ = false;  ///< put_next has given the operation for which joining the store waits
  Completion ended_;
};

}  // namespace tandem
