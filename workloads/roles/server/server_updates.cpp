#include "workloads/roles/server/server_updates.hpp"

#include <utility>

#include "workloads/exchange/ramp_state.hpp"

namespace tandem {

void ServerUpdates::begin(int worker, int version) {
  Pushed& last = pushes_.at(index(worker));
  last.push.version = version;
  last.is_dropped = false;
}

void ServerUpdates::accept(const sync::Accept& decision, bool is_last_key) {
  model_.pushes().accept(decision.worker, decision.weight);
  if (is_last_key) accepted_.push_back({decision.worker, pushes_.at(index(decision.worker)).push});
}

void ServerUpdates::discard(int worker, bool is_gone, bool is_last_key) {
  Pushed& last = pushes_.at(index(worker));
  last.is_dropped = true;
  // No push of an earlier worker in its slot remains, since these were dropped, too.
  if (is_gone && setting_.drops_lost) {
    model_.pushes().drop(worker);
    std::erase_if(accepted_, [worker](const Accepted& one) { return one.worker == worker; });
  }
  if (setting_.records && is_last_key) journal_.dropped_samples += last.push.samples;
}

/// Waits until the work is done.
void ServerUpdates::compute(const Work& work, Kernel kernel) {
  Pending done = context_.compute(work, std::move(kernel));
  context_.wait(done);
}

void ServerUpdates::fold(bool before_update) {
  PushSum& sum = model_.pushes();
  if (sum.accepted() == 0) return;
  if (sum.is_compressed())
    compute({.kind = Work::Kind::decompress, .bytes = sum.bytes() * sum.accepted()}, sum.decompress());
  const Work work{.kind = Work::Kind::reduce, .bytes = sum.summed_bytes(before_update)};
  compute(work, sum.fold(before_update));
}

void ServerUpdates::apply(double scale, double rate_factor, std::int64_t round, int version,
                          bool is_last_key) {
  fold(/*before_update=*/true);
  const auto kind = model_.only_averages() ? Work::Kind::reduce : Work::Kind::update;
  compute({.kind = kind, .bytes = model_.pushes().bytes()},
          model_.apply(scale * ramp_.factor(rate_factor, round), round));
  if (!is_last_key) return;
  if (setting_.records)
    for (const auto& [worker, push] : accepted_)
      journal_.note_applied(setting_.workers[index(worker)], version - push.version, push.samples);
  accepted_.clear();
}

HandedOut ServerUpdates::hand_out(int worker, std::int64_t version) {
  if (auto kernel = model_.compress_reply(worker, version))
    compute({.kind = Work::Kind::compress, .bytes = model_.compressed_values()}, std::move(*kernel));
  return model_.hand_out(worker, version);
}

void ServerUpdates::record_rest() {
  for (const Accepted& one : accepted_) journal_.accepted_samples += one.push.samples;
}

void ServerUpdates::serialise(StateArchive& state) {
  tandem::serialise(state, ramp_);
  model_.serialise(state);
}

}  // namespace tandem
