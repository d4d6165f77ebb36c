#include "workloads/data/trace_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/text_parts.hpp"
#include "workloads/data/trace_bytes.hpp"
#include "workloads/data/trace_records.hpp"

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
  const auto id = parse_number<std::uint64_t>(text);
  return id ? *id : hash_of(text);
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
  Reader(const std::string& path, const TraceFormat& format, const std::string& type,
         const std::function<void(double)>& progress)
      : path_(path),
        format_(format),
        type_(type),
        progress_(progress),
        file_(open_trace(path)),
        block_(block_bytes) {}

  TraceFile read() {
    type_ == "csv" || type_ == "txt" ? read_lines() : read_records();
    if (done_.trace.objects() == 0)
      fail(path_, "", "requests", fmt::format("none of at least one byte ({} of no bytes)", done_.skipped));
    return std::move(done_);
  }

 private:
  static constexpr std::size_t block_bytes = std::size_t{1} << 20;

  void add(std::uint64_t id, std::int64_t size) {
    if (size == 0) {
      ++done_.skipped;
      return;
    }
    done_.trace.add(id, format_.ignores_sizes ? 1 : size);
    if (static_cast<std::size_t>(done_.trace.objects()) > most_objects)
      fail(path_, "", fmt::format("at most {} objects", most_objects), "more");
    constexpr std::int64_t between = 1 << 20;
    if (++requests_ % between == 0) progress_(file_->share_read());
  }

  /// Bytes of the trace that were not used yet, at least `wanted` unless it ends.
  std::string_view fill(std::size_t wanted) {
    if (end_ - begin_ >= wanted) return {block_.data() + begin_, end_ - begin_};
    std::copy(block_.begin() + static_cast<std::ptrdiff_t>(begin_),
              block_.begin() + static_cast<std::ptrdiff_t>(end_), block_.begin());
    end_ -= begin_;
    begin_ = 0;
    if (block_.size() < wanted) block_.resize(2 * wanted);
    end_ += file_->read(std::span(block_).subspan(end_));
    return {block_.data(), end_};
  }
  void use(std::size_t bytes) {
    begin_ += bytes;
    used_ += static_cast<std::int64_t>(bytes);
  }

  /// The next line without its end; false: there is none.
  bool next_line(std::string& line) {
    line.clear();
    for (;;) {
      const std::string_view rest = fill(1);
      if (rest.empty()) return !line.empty();
      const auto length = rest.find('\n');
      line += rest.substr(0, length);
      use(length == std::string_view::npos ? rest.size() : length + 1);
      if (length != std::string_view::npos) return true;
    }
  }

  void read_lines() {
    const bool is_csv = type_ == "csv";
    std::string line;
    for (std::int64_t number = 1; next_line(line); ++number) {
      if ((number == 1 && is_csv && format_.has_header) || trimmed(line).empty()) continue;
      const std::string place = fmt::format(":{}", number);
      if (line.find('\0') != std::string::npos)
        fail(path_, place, fmt::format("text (type {})", type_), "a zero byte");
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
    const auto size = parse_number<std::int64_t>(*text, 0, largest_object);
    if (!size) fail(path_, place, expected, quoted(std::string(*text)));
    return *size;
  }

  void read_records() {
    const RecordLayout layout = skip_header();
    if (layout.is_key_and_value)
      return read_records(layout, [](const char* record) {
        constexpr std::uint32_t value_bits = 22, values = (1U << value_bits) - 1;
        const auto sizes = value_at<std::uint32_t>(record + 12);
        return std::pair{value_at<std::uint64_t>(record + 4),
                         std::int64_t{sizes >> value_bits} + std::int64_t{sizes & values}};
      });
    const bool is_usual =
        layout.id.type == 'Q' && layout.id.offset == 4 && layout.size.type == 'I' && layout.size.offset == 12;
    if (is_usual)
      return read_records(layout, [](const char* record) {
        return std::pair{value_at<std::uint64_t>(record + 4),
                         std::int64_t{value_at<std::uint32_t>(record + 12)}};
      });
    read_records(layout, [&layout](const char* record) {
      return std::pair{layout.id.bits(record), layout.size.type == 0 ? 1 : layout.size.value(record)};
    });
  }

  RecordLayout skip_header() {
    const std::string_view begin = fill(static_cast<std::size_t>(largest_trace_header));
    try {
      RecordLayout found =
          layout_of_trace(type_, std::string(begin.substr(0, static_cast<std::size_t>(largest_trace_header))),
                          format_.record, format_.id_column, format_.size_column);
      use(static_cast<std::size_t>(found.header));
      return found;
    } catch (const ConfigError& error) {
      throw ConfigError(path_ + ": " + error.what());
    }
  }

  /// `decode(record)`: id and size.
  template <class Decode>
  void read_records(const RecordLayout& layout, const Decode& decode) {
    const auto record = static_cast<std::size_t>(layout.record);
    done_.trace.reserve(file_->size() / record);
    for (std::string_view rest = fill(record); !rest.empty(); rest = fill(record)) {
      const std::size_t whole = rest.size() / record * record;
      if (whole == 0)
        fail(path_, fmt::format(" at byte {}", used_), fmt::format("records of {} bytes ({})", record, type_),
             fmt::format("{} bytes at the end: truncated, or another type", rest.size()));
      for (std::size_t at = 0; at < whole; at += record) {
        const std::size_t ahead = at + 12 * record;
        if (ahead < whole) done_.trace.prefetch(decode(rest.data() + ahead).first);
        const auto [id, size] = decode(rest.data() + at);
        if (size < 0 || size > largest_object)
          fail(path_, fmt::format(" at byte {}", used_ + static_cast<std::int64_t>(at)),
               "a size in bytes from 0 to 2^50", std::to_string(size));
        add(id, size);
      }
      use(whole);
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
  const std::string& type_;
  const std::function<void(double)>& progress_;
  std::unique_ptr<TraceBytes> file_;
  std::vector<char> block_;  ///< read and not used: [begin_, end_)
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::int64_t used_ = 0;  ///< bytes of the trace
  std::int64_t requests_ = 0;
  TraceFile done_;
};

}  // namespace

const std::vector<std::string>& trace_types() {
  static const std::vector<std::string> types = {
      "txt", "csv", "binary", "oracleGeneral", "oracleGeneralOpNS", "lcs", "vscsi", "twr", "auto"};
  return types;
}

std::string trace_type_of(const std::string& path) {
  const std::string name = without_compression(std::filesystem::path(path).filename().string());
  if (name.find("oracleGeneralOpNS") != std::string::npos) return "oracleGeneralOpNS";
  if (name.find("oracleGeneral") != std::string::npos) return "oracleGeneral";
  for (const char* type : {"txt", "csv", "lcs", "vscsi", "twr"})
    if (name.ends_with(std::string(".") + type)) return type;
  fail(path, "",
       "a name that tells the type: .txt, .csv, .lcs, .vscsi, .twr, or one with oracleGeneral (or a type "
       "instead of "
       "auto)",
       "'" + name + "'");
}

TraceFile read_trace(const std::string& path, const TraceFormat& format,
                     const std::function<void(double)>& progress) {
  if (std::ranges::find(trace_types(), format.type) == trace_types().end())
    throw ConfigError(
        fmt::format("expected a type of trace ({}), found '{}' (a sampler of training jobs needs "
                    "--epochs)",
                    fmt::join(trace_types(), " | "), format.type));
  const std::string type = format.type == "auto" ? trace_type_of(path) : format.type;
  return Reader(path, format, type, progress).read();
}

}  // namespace tandem
