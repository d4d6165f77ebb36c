// Whether a text is UTF-8, which JSON and YAML files must be.
#pragma once

#include <optional>
#include <string_view>

namespace tandem {

/// Position of the first byte that does not belong to a UTF-8 character; none when there is no such byte.
/// Source: RFC 3629 (neither overlong forms nor surrogates).
std::optional<std::size_t> first_not_utf8(std::string_view text);

inline bool is_utf8(std::string_view text) { return !first_not_utf8(text); }

}  // namespace tandem
