#include "runtime/launcher/rank_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "policies/vocabulary/text_parts.hpp"

namespace tandem {
namespace {

std::string replace_all(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

}  // namespace

std::string failure_line(const RankFailure& failure) {
  return fmt::format("rank {} on host {}: {}", failure.rank, failure.host,
                     replace_all(failure.message, "\n", "\\n"));
}

std::optional<RankFailure> parse_failure_line(const std::string& line) {
  // Only the start is matched: a message can be so long that the recursion of a regular expression overflows.
  static const std::regex pattern(R"(rank (\d{1,9}) on host (\S{1,255}))");
  const auto end = line.find(": ");
  if (end == std::string::npos) return std::nullopt;
  const std::string start = line.substr(0, std::min<std::size_t>(end, 300));
  std::smatch parts;
  if (!std::regex_match(start, parts, pattern)) return std::nullopt;
  return RankFailure{std::stoi(parts[1]), parts[2], replace_all(line.substr(end + 2), "\\n", "\n")};
}

std::string status_line(const std::string& text) { return "status: " + text; }

std::optional<std::string> parse_status_line(const std::string& line) {
  constexpr std::string_view word = "status: ";
  return line.starts_with(word) ? std::optional(line.substr(word.size())) : std::nullopt;
}

std::string progress_line(double fraction) {
  return fmt::format("progress {:.4f}", std::clamp(fraction, 0.0, 1.0));
}

std::optional<double> parse_progress_line(const std::string& line) {
  constexpr std::string_view word = "progress ";
  if (!line.starts_with(word)) return std::nullopt;
  const auto fraction = parse_number<double>(line.substr(word.size()));
  if (!fraction) return std::nullopt;
  // A round that several ranks end together may exceed the stop.
  return *fraction >= 0.0 ? std::min(*fraction, 1.0) : 0.0;
}

}  // namespace tandem
