#include "workloads/job/plan/sample_deals.hpp"

#include <algorithm>
#include <utility>

#include "policies/vocabulary/check.hpp"

namespace tandem {

SampleDeals::SampleDeals(const sampling::Split& split, sampling::Setting setting, Labels labels,
                         const EpochLists& lists)
    : split_(split), setting_(std::move(setting)), labels_(std::move(labels)), lists_(lists) {
  if (split_.needs_labels) shards();
}

SampleDeals::Labelled SampleDeals::labelled() const {
  Labelled all{{}, setting_};
  if (!split_.needs_labels) return all;
  all.labels = labels_();
  all.setting.labels = all.labels;
  return all;
}

const sampling::Shards& SampleDeals::shards() const {
  std::call_once(once_, [this] { shards_ = split_.deal(labelled().setting); });
  return shards_;
}

sampling::ShardVisits SampleDeals::visits(int worker) const {
  if (first_.empty()) return {shard(worker), setting_.seed, worker};
  return {shard(worker), setting_.seed, worker, first_.at(static_cast<std::size_t>(worker))};
}

sampling::ShardVisits SampleDeals::visits(const sampling::DealsOfWorker::Part& part) const {
  if (part.before.empty()) return visits(part.place);
  const std::lock_guard lock(mutex_);
  if (!labelled_) labelled_.emplace(labelled());
  const sampling::Setting& setting = labelled_->setting;
  auto found = std::ranges::find(later_, part.places, &Later::places);
  if (found == later_.end()) {
    sampling::Setting of_places = setting;
    of_places.workers = part.places;
    if (later_.size() == kept) later_.erase(later_.begin());
    found = later_.insert(later_.end(), {part.places, split_.deal(of_places)});
  }
  const auto place = static_cast<std::size_t>(part.place);
  const auto rests = rests_.after(split_, setting, part.before, part.places);
  return {found->shards.at(place), setting.seed, part.place, rests->at(place)};
}

sampling::RestList SampleDeals::rest_list(const sampling::DealsOfWorker::Part& part) const {
  const std::lock_guard lock(mutex_);
  return rest_lists_.after(list_of_epoch(), part.before, part.places);
}

void SampleDeals::continue_after(std::span<const sampling::Deal> deals) {
  if (deals.empty()) return;
  TANDEM_CHECK(!lists_.need_losses(), "deals", deals.size());
  before_.assign(deals.begin(), deals.end());
  if (lists_.exist())
    first_list_ = sampling::rest_list_after(list_of_epoch(), deals, setting_.workers);
  else
    first_ = sampling::rests_after(split_, labelled().setting, deals, setting_.workers);
}

SampleDeals::Left SampleDeals::left_of_epoch() const {
  if (first_list_.list) return {first_list_.epoch, std::ssize(first_list_.list->ids)};
  Left left{.epoch = first_list_.epoch};
  for (const sampling::Rest& rest : first_) {
    left.epoch = rest.epoch;
    left.samples += std::ssize(rest.ids);
  }
  return left;
}

}  // namespace tandem
