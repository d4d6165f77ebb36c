// The second tier of a cache node that outlives its process (data.keep): what an earlier process of the job,
// or the job that this one resumes, has left on the disk of the node's host.
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "policies/vocabulary/digest.hpp"
#include "workloads/data/tier_index.hpp"
#include "workloads/records/cache_rows.hpp"
#include "workloads/roles/cache/cache_node.hpp"

namespace tandem {
namespace {

/// Other data sets may have as many samples of the same sizes.
std::string digest_of_data_set(const Job& job) {
  const DataPlan& data = job.data();
  if (const SampleSet* const samples = data.samples()) return samples->train.manifest->digest();
  const Experiment::Workload& workload = job.spec().experiment.workload;
  const DatasetInfo& info = data.info();
  Digest digest;
  for (const std::string& text : {info.name, workload.dataset_directory, std::to_string(info.channels),
                                  std::to_string(info.height), std::to_string(info.width)})
    digest.add(text + '\n');
  if (data.dataset() != nullptr)
    for (const std::uint16_t label : data.dataset()->train_labels()) digest.add(std::to_string(label) + ' ');
  return digest.text();
}

}  // namespace

/// The result directory that has it; empty: none does.
std::string CacheNode::find_left_tier(const Job& job) const {
  const auto has_tier = [this](const std::string& directory) {
    return std::filesystem::exists(tier_index_path(directory, static_cast<int>(index_)));
  };
  const Generation* const launch = job.generation();
  const std::string& own = job.spec().directory;
  if (life_.incarnation > 1) return has_tier(own) ? own : "";
  if (launch != nullptr && launch->number() > 0 && has_tier(own)) return own;
  const ResumePoint* from = job.resume();
  if (launch != nullptr && launch->origin) from = &*launch->origin;
  return from != nullptr && has_tier(from->directory) ? from->directory : "";
}

/// Reads all that is left once, to compare it with its checksums, before the node serves anybody.
void CacheNode::begin_tier(const Job& job) {
  const TierOrigin origin{job.roster().host_of(context_.rank()), digest_of_data_set(job)};
  const auto node = static_cast<int>(index_);
  std::vector<TierEntry> left;
  if (!left_tier_.empty())
    left = read_tier_index(tier_index_path(left_tier_, node), origin, data_.manifest());
  std::vector<TierEntry> here = left;
  if (!left.empty()) {
    Bytes size{0};
    for (const TierEntry& entry : left) size += data_.manifest().size_of(entry.id);
    Kernel check;
    if (tier_file_) check = [&] { here = tier_file_->take_over(tier_file_path(left_tier_, node), left); };
    Pending checked = context_.read(0, {size, std::ssize(left)}, std::move(check));
    context_.wait(checked);
  }
  spoiled_ = std::ssize(left) - std::ssize(here);
  std::vector<cache::Holder> holders;
  for (const TierEntry& entry : here) holders.push_back({entry.id, node});
  if (!holders.empty()) engine_.directory(holders);
  // The tier may be smaller than before.
  std::erase_if(here, [this](const TierEntry& entry) {
    if (engine_.tier_of(entry.id) > 0) return false;
    disk_->remove(entry.id);
    return true;
  });
  for (const TierEntry& entry : here) kept_at_start_.add(data_.manifest().size_of(entry.id));
  tier_index_.emplace(tier_index_path(job.spec().directory, node), origin, data_.manifest(), here);
}

/// It is in the second tier, or not any more.
void CacheNode::note_in_tier(SampleId id, bool is_there) {
  if (!tier_index_) return;
  if (is_there)
    tier_index_->add({id, tier_file_ ? tier_file_->checksum_of(id) : 0});
  else
    tier_index_->remove(id);
}

void CacheNode::remove_from_disk(SampleId id) {
  note_in_tier(id, false);
  disk_->remove(id);
}

/// In the first epoch that is requested.
void CacheNode::record_kept(NodeJob& job) {
  if (const SampleCount kept = std::exchange(kept_at_start_, {}); kept.samples > 0) {
    CacheRecord& row = job.record(job.first_epoch, std::string(kept_row));
    row.samples += kept.samples;
    row.bytes += kept.bytes;
  }
  if (const std::int64_t spoiled = std::exchange(spoiled_, 0); spoiled > 0)
    job.record(job.first_epoch, std::string(spoiled_row)).samples += spoiled;
}

}  // namespace tandem
