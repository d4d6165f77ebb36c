#include "workloads/data/trace_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>

#include "policies/vocabulary/check.hpp"

namespace tandem {
namespace {

constexpr std::int64_t largest_object = std::int64_t{1} << 50;
constexpr std::size_t most_objects = 0xfffffffeU;

[[noreturn]] void fail(const std::string& path, const std::string& place, const std::string& expected,
                       const std::string& found) {
  throw ConfigError(fmt::format("{}{}: expected {}, found {}", path, place, expected, found));
}

/// FNV-1a (Fowler, Noll, Vo).
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char letter : text)
    hash = (hash ^ static_cast<unsigned char>(letter)) * std::uint64_t{0x100000001b3};
  return hash;
}

std::uint64_t id_of(std::string_view text) {
  std::uint64_t id = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  return error == std::errc() && rest == text.data() + text.size() ? id : hash_of(text);
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blank = " \t\r";
  const auto begin = text.find_first_not_of(blank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blank) - begin + 1);
}

/// Column `number` of a line, counted from 1; nothing if there are fewer.
std::optional<std::string_view> column_of(std::string_view line, int number, char delimiter) {
  for (; number > 1; --number) {
    const auto end = line.find(delimiter);
    if (end == std::string_view::npos) return std::nullopt;
    line.remove_prefix(end + 1);
  }
  return trimmed(line.substr(0, line.find(delimiter)));
}

class Reader {
 public:
  Reader(const std::string& path, const TraceFormat& format, const std::function<void(double)>& progress)
      : path_(path), format_(format), progress_(progress), file_(path, std::ios::binary) {
    std::error_code error;
    bytes_ = static_cast<std::int64_t>(std::filesystem::file_size(path, error));
    if (!file_ || error) throw ConfigError(path + ": expected a trace, found no file that can be read");
    if (path.ends_with(".zst")) fail(path, "", "a file that is not compressed (zstd -d unpacks it)", ".zst");
    if (bytes_ == 0) fail(path, "", "requests", "an empty file");
  }

  TraceFile read() {
    format_.type == "oracleGeneral" ? read_records() : read_lines();
    if (done_.trace.objects() == 0)
      fail(path_, "", "requests", fmt::format("none of at least one byte ({} of no bytes)", done_.skipped));
    return std::move(done_);
  }

 private:
  void add(std::uint64_t id, std::int64_t size) {
    if (size == 0) {
      ++done_.skipped;
      return;
    }
    done_.trace.add(id, format_.ignores_sizes ? 1 : size);
    if (static_cast<std::size_t>(done_.trace.objects()) > most_objects)
      fail(path_, "", fmt::format("at most {} objects", most_objects), "more");
    constexpr std::int64_t between = 1 << 20;
    if (++requests_ % between == 0)
      progress_(static_cast<double>(file_.tellg()) / static_cast<double>(bytes_));
  }

  void read_lines() {
    const bool is_csv = format_.type == "csv";
    std::string line;
    for (std::int64_t number = 1; std::getline(file_, line); ++number) {
      if ((number == 1 && is_csv && format_.has_header) || trimmed(line).empty()) continue;
      const std::string place = fmt::format(":{}", number);
      if (line.find('\0') != std::string::npos)
        fail(path_, place, fmt::format("text (type {})", format_.type), "a zero byte");
      if (!is_csv) {
        add(id_of(trimmed(line)), 1);
        continue;
      }
      const auto id = column_of(line, format_.id_column, format_.delimiter);
      if (!id || id->empty())
        fail(path_, place, fmt::format("an id in column {}", format_.id_column), quoted(line));
      add(id_of(*id), format_.size_column == 0 ? 1 : size_in(line, place));
    }
  }

  std::int64_t size_in(const std::string& line, const std::string& place) const {
    const std::string expected = fmt::format(
        "a size in bytes from 0 to 2^50 in column {} (size-col=0: there is none)", format_.size_column);
    const auto text = column_of(line, format_.size_column, format_.delimiter);
    if (!text) fail(path_, place, expected, quoted(line));
    std::int64_t size = 0;
    const auto [rest, error] = std::from_chars(text->data(), text->data() + text->size(), size);
    if (error != std::errc() || rest != text->data() + text->size() || size < 0 || size > largest_object)
      fail(path_, place, expected, quoted(std::string(*text)));
    return size;
  }

  void read_records() {
    static_assert(std::endian::native == std::endian::little);
    constexpr std::int64_t record = 24, id_at = 4, size_at = 12;
    if (bytes_ % record != 0)
      fail(path_, fmt::format(" at byte {}", bytes_ / record * record), "records of 24 bytes (oracleGeneral)",
           fmt::format("{} bytes at the end: truncated, or another type", bytes_ % record));
    done_.trace.reserve(static_cast<std::size_t>(bytes_ / record));
    std::vector<char> block(static_cast<std::size_t>(record) << 16);
    while (file_.read(block.data(), static_cast<std::streamsize>(block.size())), file_.gcount() > 0)
      for (std::int64_t at = 0; at + record <= file_.gcount(); at += record) {
        constexpr std::int64_t ahead = 12 * record;
        if (at + ahead < file_.gcount())
          done_.trace.prefetch(value_at<std::uint64_t>(block.data() + at + ahead + id_at));
        add(value_at<std::uint64_t>(block.data() + at + id_at),
            value_at<std::uint32_t>(block.data() + at + size_at));
      }
  }

  template <class Value>
  static Value value_at(const char* bytes) {
    Value value = 0;
    std::memcpy(&value, bytes, sizeof value);
    return value;
  }

  static std::string quoted(const std::string& text) {
    constexpr std::size_t longest = 60;
    return fmt::format("'{}{}'", text.substr(0, longest), text.size() > longest ? "..." : "");
  }

  const std::string& path_;
  const TraceFormat& format_;
  const std::function<void(double)>& progress_;
  std::ifstream file_;
  std::int64_t bytes_ = 0;
  std::int64_t requests_ = 0;
  TraceFile done_;
};

}  // namespace

const std::vector<std::string>& trace_types() {
  static const std::vector<std::string> types = {"txt", "csv", "oracleGeneral"};
  return types;
}

TraceFile read_trace(const std::string& path, const TraceFormat& format,
                     const std::function<void(double)>& progress) {
  if (std::ranges::find(trace_types(), format.type) == trace_types().end())
    throw ConfigError(fmt::format("expected a type of trace ({}), found '{}'",
                                  fmt::join(trace_types(), " | "), format.type));
  return Reader(path, format, progress).read();
}

}  // namespace tandem
