#include "workloads/experiment/presets.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace tandem {
namespace {

struct PresetKey {
  std::string_view preset;
  const char* path;
  const char* value;
};

// PyTorch's DistributedDataParallel over NCCL: buckets are summed by the library while the backward pass
// continues; they are closed at 25 MiB, the first one at 1 MiB (bucket_cap_mb,
// dist._DEFAULT_FIRST_BUCKET_BYTES).
constexpr PresetKey preset_keys[] = {
    {"ddp", "sync.algorithm", "bsp"},          {"ddp", "sync.over", "all-reduce"},
    {"ddp", "sync.collective", "native"},      {"ddp", "sync.overlap", "backward"},
    {"ddp", "workload.bucket_bytes", "25MiB"}, {"ddp", "workload.first_bucket_bytes", "1MiB"}};

bool assigns(const std::vector<Assignment>& layer, const std::string& path, const Assignment& at) {
  return std::ranges::any_of(layer, [&](const Assignment& one) {
    return one.path == path && one.variant == at.variant && one.job == at.job;
  });
}

}  // namespace

void add_presets(std::vector<Assignment>& layer) {
  std::vector<Assignment> implied;
  for (const Assignment& preset : layer) {
    if (preset.path != "sync.preset" || !preset.value.is_string()) continue;
    for (const PresetKey& key : preset_keys)
      if (preset.value == key.preset && !assigns(layer, key.path, preset))
        implied.push_back({.place = preset.place,
                           .variant = preset.variant,
                           .path = key.path,
                           .value = key.value,
                           .job = preset.job,
                           .is_implied = true});
  }
  layer.insert(layer.begin(), std::make_move_iterator(implied.begin()),
               std::make_move_iterator(implied.end()));
}

}  // namespace tandem
