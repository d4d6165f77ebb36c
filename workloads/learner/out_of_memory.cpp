#include "workloads/learner/out_of_memory.hpp"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <regex>

namespace tandem {
namespace {

bool contains_any(std::string_view complaint, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(
      words, [&](std::string_view word) { return complaint.find(word) != std::string_view::npos; });
}

/// The amount and its unit in the first of these phrases that matches; bytes may have no unit.
std::optional<std::string> amount_in(const std::string& text, std::initializer_list<const char*> phrases) {
  for (const char* phrase : phrases) {
    std::smatch found;
    if (!std::regex_search(text, found, std::regex(phrase))) continue;
    const std::string unit = found[2].matched ? found[2].str() : "";
    return found[1].str() + ' ' + (unit.empty() ? "bytes" : unit);
  }
  return std::nullopt;
}

// A number, and a unit after it.
#define TANDEM_AMOUNT "([0-9][0-9.]*) ?((?:[KMGT]i?)?B|bytes)?"

}  // namespace

bool is_no_memory_message(std::string_view complaint) {
  return contains_any(complaint, {"out of memory", "can't allocate memory", "bad_alloc",
                                  "_STATUS_ALLOC_FAILED",  // cuBLAS, and cuDNN before 9
                                  "_ALLOCATION_FAILED"});  // cuDNN 9
}

bool may_be_no_memory_message(std::string_view complaint) {
  return contains_any(complaint, {"CUDNN_STATUS_NOT_SUPPORTED", "unable to find an engine",
                                  "Unable to find a valid cuDNN algorithm"});  // libtorch before 2
}

std::string no_memory_message(std::string_view complaint, const LearnerSetting& setting, std::int64_t batch,
                              const std::string& device) {
  const std::string text(complaint);
  const auto asked = amount_in(text, {"[Tt]ried to allocate " TANDEM_AMOUNT, "requested " TANDEM_AMOUNT});
  const auto free =
      amount_in(text, {TANDEM_AMOUNT " of [0-9]+ are free", TANDEM_AMOUNT " is free", TANDEM_AMOUNT " free"});
  std::string message = "'" + setting.model + "' with batches of " + std::to_string(batch) +
                        " images: " + device + " is out of memory";
  if (asked) message += ", requested " + *asked;
  if (free) message += (asked ? " with " : ", with ") + *free + " free";
  message += "; reduce workload.batch";
  return message + (setting.precision == Precision::bf16 ? "" : " or set workload.precision to bf16");
}

#undef TANDEM_AMOUNT

}  // namespace tandem
