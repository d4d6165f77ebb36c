// Brings the batches of a worker to its device: requests them, decodes them, and decodes the next one early
// if the device can do that while it computes.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "workloads/context.hpp"
#include "workloads/exchange/exchange.hpp"
#include "workloads/exchange/member_exchange.hpp"
#include "workloads/exchange/replica.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/records/records.hpp"
#include "workloads/roles/batch_decoder.hpp"
#include "workloads/roles/loader.hpp"

namespace tandem {

class BatchPipeline {
 public:
  /// While it waits, `exchange` progresses. `node`: the worker's cache node, if that may depart; otherwise
  /// null. The arguments must outlive it.
  BatchPipeline(const Job& job, Context& context, Journal& journal, Replica& replica, Exchange& exchange,
                int worker, CacheNodeStanding* node);

  /// Waits until the batch of this step is decoded, and returns its samples. `batch`: samples to request.
  int load(int batch, int step);
  /// Begins to decode the next batch, if this worker loads ahead and the batch has arrived. Never blocks.
  void load_ahead(int batch, int step);
  /// After the last step: if this worker loads ahead, decodes one more batch, which is not used. It does so
  /// whether or not the batch arrived in time, so that both worlds have the same number of operations.
  void drop_next(int batch, int step);
  /// The losses of the batch that load() returned last; empty when math is modelled. Keeps those that the
  /// sampler needs. `records`: where all are recorded, or null. Pre: the next batch is not loaded.
  void note_losses(std::span<const float> losses, std::vector<LossRecord>* records);
  /// See SampleVisits.
  bool has_trained(double epochs, std::int64_t samples) const { return visits_.has_trained(epochs, samples); }
  /// See SampleVisits, as the next one.
  void serialise(StateArchive& state) { visits_.serialise(state); }
  void skip(std::int64_t samples) {
    before_ += samples;
    visits_.skip(samples);
  }
  void follow(const sampling::MemberDeals& deals) { visits_.follow(deals, slot_); }
  /// `incarnation`: of the worker in its slot.
  void join(const sampling::MemberDeals& deals, std::int64_t samples, int incarnation) {
    before_ = samples;
    visits_.join(deals, slot_, samples);
    loader_->join(incarnation);
  }
  /// Samples of the last batch that were replaced by others.
  std::int64_t replaced() const { return replaced_; }
  /// Time from the arrival of the last batch until it was decoded, in which load() waited.
  Seconds decoding_time() const { return decoding_time_; }
  std::int64_t epoch() const { return batch_.epoch; }
  /// Samples of the batches that were begun or requested, and those of earlier workers of the slot.
  std::int64_t taken() const { return before_ + loader_->taken(); }
  /// An exchange of the worker begins, or is over.
  void note_exchange(bool begins) { loader_->note_exchange(begins); }
  /// Ends the streams that are open.
  void close() { loader_->close(); }

 private:
  void begin(int batch, int step);
  /// Bytes of the batch's images as they are stored; 0: it has records.
  Bytes stored_size() const;
  Kernel load_kernel();

  Context& context_;
  Replica& replica_;
  Exchange& exchange_;
  MemberExchange* members_;  ///< null: all workers stay
  SampleVisits visits_;
  const DataPlan& data_;
  std::unique_ptr<Loader> loader_;
  BatchDecoder decoder_;
  Bytes record_bytes_;
  bool loads_ahead_;
  int slot_;
  std::int64_t before_ = 0;  ///< samples of earlier workers of the slot, or before the job was resumed
  std::int64_t replaced_ = 0;
  Seconds decoding_time_{};
  std::vector<float> own_losses_;  ///< scratch
  Pending decoding_;               ///< of the next batch; empty: not begun
  Loader::Batch batch_{};          ///< the next batch
};

}  // namespace tandem
