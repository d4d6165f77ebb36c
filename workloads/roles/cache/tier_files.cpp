#include "workloads/roles/cache/tier_files.hpp"

#include <filesystem>
#include <utility>

#include "policies/vocabulary/digest.hpp"

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

TierFiles::TierFiles(const Job& job, Context& context, int node, int incarnation)
    : job_(job), context_(context), node_(node), incarnation_(incarnation) {
  const std::string& directory = job.spec().directory;
  if (are_kept()) left_ = find_left();
  if (job.data().dataset() != nullptr && job.data().has_disk_tier())
    samples_ = std::make_unique<TierFile>(tier_file_path(directory, node), job.data().manifest(),
                                          !are_kept()          ? TierFile::Begin::nameless
                                          : left_ == directory ? TierFile::Begin::as_left
                                                               : TierFile::Begin::empty);
}

std::string TierFiles::find_left() const {
  const auto has_tier = [this](const std::string& directory) {
    return std::filesystem::exists(log_path(directory));
  };
  const Generation* const launch = job_.generation();
  const std::string& own = job_.spec().directory;
  if (incarnation_ > 1) return has_tier(own) ? own : "";
  if (launch != nullptr && launch->number() > 0 && has_tier(own)) return own;
  const ResumePoint* from = job_.resume();
  if (launch != nullptr && launch->origin) from = &*launch->origin;
  return from != nullptr && has_tier(from->directory) ? from->directory : "";
}

TierFiles::Left TierFiles::check_left() {
  const cache::Manifest& manifest = job_.data().manifest();
  origin_ = {job_.roster().host_of(context_.rank()), digest_of_data_set(job_)};
  std::vector<TierEntry> left;
  if (!left_.empty()) left = read_tier_index(log_path(left_), origin_, manifest);
  std::vector<TierEntry> here = left;
  if (!left.empty()) {
    Bytes size{0};
    for (const TierEntry& entry : left) size += manifest.size_of(entry.id);
    Kernel check;
    if (samples_) check = [&] { here = samples_->take_over(tier_file_path(left_, node_), left); };
    Pending checked = context_.read(0, {size, std::ssize(left)}, std::move(check));
    context_.wait(checked);
  }
  const std::int64_t spoiled = std::ssize(left) - std::ssize(here);
  return {.here = std::move(here), .spoiled = spoiled};
}

void TierFiles::begin_log(std::span<const TierEntry> here) {
  log_.emplace(log_path(job_.spec().directory), origin_, job_.data().manifest(), here);
}

void TierFiles::note(SampleId id, bool is_there) {
  if (!log_) return;
  if (is_there)
    log_->add({id, samples_ ? samples_->checksum_of(id) : 0});
  else
    log_->remove(id);
}

}  // namespace tandem
