#include "workloads/roles/batch_pipeline.hpp"

#include "policies/vocabulary/check.hpp"

namespace tandem {

BatchPipeline::BatchPipeline(const Job& job, Context& context, Journal& journal, Replica& replica,
                             Exchange& exchange, int worker, CacheNodeStanding* node)
    : context_(context),
      replica_(replica),
      exchange_(exchange),
      members_(exchange.members()),
      visits_(job.roster(), job.data(), context, worker,
              [&exchange](Pending& until) { exchange.wait_progressing(until); }),
      data_(job.data()),
      loader_(make_loader(
          job.roster(), job.data(), context, visits_, worker, GivenSamples(job.spec().experiment),
          [&exchange](Pending& until) { return exchange.wait_progressing(until); }, {node, &journal})),
      decoder_(job.data(), job.data().from_storage(), GivenSamples(job.spec().experiment).is_sent()),
      record_bytes_(job.data().info().record_bytes()),
      loads_ahead_(job.loads_ahead(context.rank())),
      slot_(worker) {
  visits_.know_residents(ResidentLists::of(job), [this] { return loader_->residents(); });
}

int BatchPipeline::load(int batch, int step) {
  if (members_ != nullptr) members_->await_members();
  loader_->begin_step(batch);
  if (decoding_.empty()) begin(batch, step);
  const int samples = batch_.samples;
  const Seconds arrived = context_.now();
  exchange_.wait_progressing(decoding_);
  decoding_time_ = context_.now() - arrived;
  replaced_ = decoder_.replaced();
  return samples;
}

void BatchPipeline::load_ahead(int batch, int step) {
  if (!loads_ahead_ || !loader_->has_next()) return;
  if (members_ == nullptr || members_->knows_members()) begin(batch, step);
}

void BatchPipeline::drop_next(int batch, int step) {
  if (!loads_ahead_ || !loader_->may_have_next()) return;
  if (decoding_.empty()) begin(batch, step);
  exchange_.wait_progressing(decoding_);
}

void BatchPipeline::begin(int batch, int step) {
  batch_ = loader_->next(batch);
  decoding_ = context_.compute({.kind = Work::Kind::decode,
                                .samples = batch_.samples,
                                .bytes = record_bytes_ * batch_.samples,
                                .step = step,
                                .concurrent = loads_ahead_,
                                .stored = stored_size()},
                               load_kernel());
}

Bytes BatchPipeline::stored_size() const {
  Bytes size{0};
  if (data_.decodes_images())
    for (const SampleId id : batch_.ids) size += data_.manifest().size_of(id);
  return size;
}

Kernel BatchPipeline::load_kernel() {
  if (!decoder_.is_needed()) return replica_.load(batch_.stored, batch_.weights);
  return [this, load = replica_.load(decoder_.make_room(batch_.samples), batch_.weights)] {
    decoder_.decode(batch_);
    load();
  };
}

void BatchPipeline::note_losses(std::span<const float> losses, std::vector<LossRecord>* records) {
  const auto trained = decoder_.is_needed() ? decoder_.trained() : batch_.ids;
  visits_.note_losses(batch_.ids, losses_of(batch_.ids, trained, losses, own_losses_));
  if (records == nullptr) return;
  TANDEM_CHECK(losses.size() == batch_.ids.size(), losses.size(), batch_.ids.size());
  for (std::size_t i = 0; i < losses.size(); ++i)
    records->push_back({context_.rank(), batch_.epoch, trained[i], losses[i]});
}

}  // namespace tandem
