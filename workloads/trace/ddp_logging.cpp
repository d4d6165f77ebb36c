#include "workloads/trace/ddp_logging.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <string_view>
#include <vector>

namespace tandem::trace {
namespace {

// Times are in nanoseconds.
constexpr const char* forward_key = "avg_forward_compute_time";
constexpr const char* backward_key = "avg_backward_compute_time";
/// From the first all-reduce to the end of the backward pass.
constexpr const char* overlap_key = "avg_backward_compute_comm_overlap_time";

/// "8196000, 31502336"; empty for any other text.
std::vector<std::int64_t> numbers_in(std::string_view text) {
  constexpr std::int64_t most = std::int64_t{1} << 48U;
  std::vector<std::int64_t> numbers;
  while (!text.empty()) {
    std::int64_t number = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || number < 0 || number > most) return {};
    numbers.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
    text.remove_prefix(std::min(text.find_first_not_of(", "), text.size()));
  }
  return numbers;
}

std::optional<int> small_count(std::int64_t number) {
  if (number < 0 || number > std::numeric_limits<int>::max()) return std::nullopt;
  return static_cast<int>(number);
}

/// What the hook sends instead of the parameters' type.
std::string type_on_wire(const std::string& types, const std::string& hook) {
  if (hook.find("bf16") != std::string::npos || hook.find("BF16") != std::string::npos)
    return "c10::BFloat16";
  if (hook.find("fp16") != std::string::npos || hook.find("FP16") != std::string::npos) return "c10::Half";
  return types;
}

}  // namespace

void DdpLogging::text(const std::string& key, const std::string& value) {
  constexpr std::array<std::string_view, 4> wanted = {sizes, first_sizes, "comm_hook", "dtypes"};
  if (std::ranges::find(wanted, key) != wanted.end()) texts_[key] = value;
}

void DdpLogging::number(const std::string& key, std::int64_t value) {
  constexpr std::array<std::string_view, 5> wanted = {forward_key, backward_key, overlap_key, "rank",
                                                      "world_size"};
  if (std::ranges::find(wanted, key) != wanted.end()) numbers_[key] = value;
}

std::int64_t DdpLogging::number_of(const char* key) const {
  const auto found = numbers_.find(key);
  // No step takes a day.
  constexpr Nanoseconds longest = Nanoseconds{86'400} * 1'000'000'000;
  return found == numbers_.end() || found->second > longest ? -1 : found->second;
}

JobDescription DdpLogging::describe(const std::string& file) const {
  const auto text_of = [&](const char* key) {
    const auto found = texts_.find(key);
    return found == texts_.end() ? std::string() : found->second;
  };
  JobDescription job;
  job.format = DescriptionFormat::ddp_logging;
  job.file = file;
  job.rank = small_count(number_of("rank"));
  job.world_size = small_count(number_of("world_size"));
  job.hook = text_of("comm_hook");
  const std::string types = text_of("dtypes");
  // If there are several types, it is not known which bucket has which.
  const std::int64_t known = bytes_of_type(types);
  const std::int64_t width = known > 0 ? known : 4;
  const std::string rebuilt = text_of(sizes);
  for (const std::int64_t bytes : numbers_in(rebuilt.empty() ? text_of(first_sizes) : rebuilt))
    job.buckets.push_back({.elements = bytes / width,
                           .bytes = bytes,
                           .dtype = type_on_wire(types, job.hook),
                           .ready = {},
                           .gradients = {}});
  if (job.buckets.empty()) return job;
  job.steps = job.steps_alike = 1;
  const Nanoseconds forward = number_of(forward_key), backward = number_of(backward_key);
  if (forward <= 0 || backward <= 0) return job;
  job.forward = forward;
  const Nanoseconds overlap = number_of(overlap_key);
  if (overlap > 0 && overlap <= backward) job.buckets.front().ready = forward + backward - overlap;
  job.buckets.back().ready = forward + backward;
  return job;
}

}  // namespace tandem::trace
