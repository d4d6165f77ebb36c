// Ids of samples as short text: about one character for each id of an epoch, or a few characters in all if
// they are consecutive.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tandem {

/// The ids in their order, each as often as it occurs. Pre: none is negative.
std::string id_text(std::vector<std::int64_t> ids);

/// Adds how often each id occurs in the text. Errors: ConfigError for another text, and for ids beyond
/// `counts`.
void add_ids(const std::string& text, std::span<std::uint32_t> counts);

}  // namespace tandem
