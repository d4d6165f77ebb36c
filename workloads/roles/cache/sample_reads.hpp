// Where samples are read that no tier of a node holds: a disk of this rank's host, or a store on another
// rank (other cache nodes: peer_source.hpp). Several stores stripe the samples by their ids.
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

/// Samples that one read from a store has at most: a batch, or what a policy reads in the background.
inline std::size_t most_samples_of_read(const DataPlan& data) {
  const int package = data.cache_factory().needs.manifest ? 1024 : 0;
  return static_cast<std::size_t>(std::max(data.largest_batch(), package));
}

/// Its reads end in the order in which they are begun, as a rule that in which they were added.
class SampleReads {
 public:
  virtual ~SampleReads() = default;
  virtual void add(SampleRead read) = 0;
  /// Puts an operation of the oldest read into `wait`, if that is empty and there is a read.
  virtual void put_next(Pending& wait) = 0;
  /// Tells it how the operation that put_next gave has ended, before `finish`.
  virtual void hear(const Completion& /*ended*/) {}
  /// The oldest read; nullopt: other operations of it have not ended. Never blocks for those. Pre: the
  /// operation that put_next gave has ended, and was waited for.
  virtual std::optional<SampleRead> finish() = 0;
  /// A read that ends without an operation, because nobody is there to make it; nullopt: there is none.
  virtual std::optional<SampleRead> take_refused() { return std::nullopt; }
  /// No read follows. `last`: what put_next has given and has not ended, or empty. Pre: all have ended but
  /// those into a tier.
  virtual void close(Pending& last) = 0;
};

/// Whether each follows the one before it in memory.
bool is_one_piece(const std::vector<std::span<std::byte>>& targets);

/// Requests that the first disk of the rank's host serves at the same time, or that a cache node makes at the
/// same time where it reads a mounted storage itself.
int parallel_requests(const Job& job, Rank rank);

/// The first disk of this rank's host, with samples of the data set and the tier of a cache. Each sample of
/// an access is a request to the disk. As many parts of an access as the disk serves at the same time are
/// transferred at the same time. Accesses begin one after the other; but where the disk serves several
/// requests at the same time, reads of the data set begin before earlier ones have ended, so that it always
/// has requests to serve.
class DiskSource : public SampleReads {
 public:
  /// `parallel`: requests that the disk serves at the same time, at least 1. `samples` and `tier`: null when
  /// math is modelled. `continues`: after a sample that cannot be read, or is not what the data set says;
  /// otherwise it ends the read with a WorldError. The arguments must outlive it.
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
  /// Nobody waits any more for the reads of that reader (SampleRead::reader): those that have not begun are
  /// not made. Returns how many.
  std::size_t drop_reads_of(std::size_t reader);
  /// Bytes of the writes that were added and have not ended.
  Bytes to_write() const { return to_write_; }

 private:
  struct Access {
    SampleRead read;
    std::vector<SampleId> removed = {};  ///< after it
    bool has_begun = false;
    std::vector<Pending> parts = {};  ///< but the one that was given out
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

/// A store on another rank. All reads are requested at once; the store makes one after the other, and sends
/// one while it reads the next. Where it may depart, reads wait until it is there again.
class StoreSource : public SampleReads {
 public:
  StoreSource(Context& context, Rank store, const GivenSamples& given)
      : context_(context), store_(context, store), given_(given) {}
  void add(SampleRead read) override;
  void put_next(Pending& wait) override;
  void hear(const Completion& ended) override { ended_ = ended; }
  std::optional<SampleRead> finish() override;
  void close(Pending& last) override;
  /// It has departed: what it was asked for is asked again.
  void depart();
  /// Another one has come, of that incarnation. `own`: that of this rank.
  void join(int own, int store) { store_.join(own, store); }

 private:
  struct Request {
    SampleRead read;
    /// Where the samples go to different places, or are followed by GivenSamples.
    std::vector<std::byte> records = {};
    Pending sent = {};
    Pending data = {};
  };
  void ask(Request& request);

  Context& context_;
  DepartingServer store_;
  GivenSamples given_;
  std::deque<Request> requests_;
  std::vector<Pending> lost_;  ///< what the store that has departed was asked for
  bool awaits_store_ = false;  ///< put_next has given what joining the store waits for
  Completion ended_;
};

}  // namespace tandem
