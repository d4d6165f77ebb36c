#include "workloads/roles/cache/node_sources.hpp"

#include <string>
#include <utility>

namespace tandem {

NodeSources::NodeSources(const Job& job, Context& context, const ReadPlaces& places, TierFile* tier)
    : context_(context) {
  const DataPlan& data = job.data();
  const GivenSamples given(job.spec().experiment);
  for (const Rank store : job.roster().ranks_of(Roster::Role::store)) {
    auto source = std::make_unique<StoreSource>(context, store, given);
    stores_.push_back(source.get());
    sources_.push_back(std::move(source));
  }
  if (places.stores == 0) {
    own_samples_ =
        data.open_source(job.spec().directory + "/records_" + std::to_string(places.node) + ".bin");
    add_disk(job, given, tier);
  }
  for (const Rank node : job.roster().ranks_of(Roster::Role::cache_node)) {
    if (places.peers == 0 || node == context.rank()) continue;
    auto peer = std::make_unique<PeerSource>(context, node, data.manifest());
    peers_.push_back(peer.get());
    sources_.push_back(std::move(peer));
  }
  if (places.stores > 0 && data.has_disk_tier()) add_disk(job, given, tier);
}

void NodeSources::add_disk(const Job& job, const GivenSamples& given, TierFile* tier) {
  auto disk =
      std::make_unique<DiskSource>(context_, job.data().manifest(), parallel_requests(job, context_.rank()),
                                   own_samples_.get(), tier, given.is_sent());
  disk_ = disk.get();
  sources_.push_back(std::move(disk));
}

void NodeSources::put_next(std::span<Pending> waits) {
  for (std::size_t place = 0; place < sources_.size(); ++place) sources_[place]->put_next(waits[place]);
}

std::optional<SampleRead> NodeSources::take_ended(std::size_t place, const Completion& ended) {
  sources_[place]->on_ended(ended);
  return sources_[place]->finish();
}

std::optional<SampleRead> NodeSources::take_refused() {
  for (PeerSource* peer : peers_)
    if (auto read = peer->take_refused()) return read;
  return std::nullopt;
}

void NodeSources::close(std::span<Pending> waits) {
  for (std::size_t place = 0; place < sources_.size(); ++place) sources_[place]->close(waits[place]);
}

}  // namespace tandem
