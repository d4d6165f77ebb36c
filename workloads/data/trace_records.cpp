#include "workloads/data/trace_records.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <vector>

#include "policies/vocabulary/check.hpp"

namespace tandem {
namespace {

static_assert(std::endian::native == std::endian::little);

template <class Value>
Value value_at(const char* bytes) {
  Value value = 0;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

/// Bytes of a letter of Python's struct; 0: none.
std::int64_t width_of(char type) {
  switch (type) {
    case 'c':
    case 'b':
    case 'B':
      return 1;
    case 'h':
    case 'H':
      return 2;
    case 'i':
    case 'I':
    case 'f':
      return 4;
    case 'q':
    case 'Q':
    case 'd':
      return 8;
    default:
      return 0;
  }
}

/// The fields of a format such as "<IQI".
std::vector<RecordField> fields_of(const std::string& format) {
  std::vector<RecordField> fields;
  std::int64_t offset = 0;
  for (std::size_t i = format.starts_with('<') ? 1 : 0; i < format.size(); ++i) {
    const std::int64_t width = width_of(format[i]);
    if (width == 0)
      throw ConfigError(
          "expected a format of the letters c b B h H i I q Q f d such as format=<IQI, found '" + format +
          "'");
    fields.push_back({offset, format[i]});
    offset += width;
  }
  if (fields.empty())
    throw ConfigError("expected the fields of a record such as format=<IQI (type binary), found none");
  return fields;
}

RecordField column_of(const std::vector<RecordField>& fields, int column, const std::string& what) {
  if (column == 0) return {};
  if (column < 0 || column > std::ssize(fields))
    throw ConfigError(fmt::format("expected the {} in a column from 1 to {}, found column {}", what,
                                  fields.size(), column));
  return fields[static_cast<std::size_t>(column) - 1];
}

RecordLayout layout_of_fields(const std::string& format, int id_column, int size_column) {
  const auto fields = fields_of(format);
  if (id_column == 0) throw ConfigError("expected a column with ids, found none (column 0)");
  const std::int64_t record = fields.back().offset + width_of(fields.back().type);
  return {.record = record,
          .id = column_of(fields, id_column, "id"),
          .size = column_of(fields, size_column, "size")};
}

constexpr std::uint64_t lcs_magic = 0x123456789abcdef0ULL;

/// The header of 1,024 bytes: a format of fields, and in which of them id and size are.
RecordLayout layout_of_old_lcs(const std::string& begin) {
  constexpr std::size_t format_at = 8, format_size = 240, item_size_at = 1004, end_at = 1016;
  if (begin.size() < 1024 || value_at<std::uint64_t>(begin.data() + end_at) != lcs_magic)
    throw ConfigError("expected a header of type lcs, found one without its end mark");
  std::string format = begin.substr(format_at, format_size);
  format = format.substr(0, format.find('\0'));
  const int id = static_cast<unsigned char>(begin[format_at + format_size]);
  const int size = static_cast<unsigned char>(begin[format_at + format_size + 1]);
  RecordLayout layout = layout_of_fields(format, id, size);
  layout.header = 1024;
  const auto item = value_at<std::uint32_t>(begin.data() + item_size_at);
  if (item != layout.record)
    throw ConfigError(
        fmt::format("expected records of {} bytes as the fields '{}' have, found {} in the header",
                    layout.record, format, item));
  return layout;
}

/// The header of 8,192 bytes: the version determines the layout.
RecordLayout layout_of_lcs(const std::string& begin) {
  if (begin.size() < 16 || value_at<std::uint64_t>(begin.data()) != lcs_magic)
    throw ConfigError("expected the start mark of type lcs, found other bytes");
  constexpr std::size_t end_at = 8184;
  if (begin.size() < 8192 || value_at<std::uint64_t>(begin.data() + end_at) != lcs_magic)
    return layout_of_old_lcs(begin);
  const auto version = value_at<std::uint64_t>(begin.data() + 8);
  constexpr std::int64_t records[] = {24, 28, 36, 40, 44, 52, 68, 100};
  if (version < 1 || version > std::size(records))
    throw ConfigError(
        fmt::format("expected a version of type lcs from 1 to {}, found {}", std::size(records), version));
  return {
      .header = 8192, .record = records[version - 1], .id = {4, 'Q'}, .size = {12, version < 3 ? 'I' : 'q'}};
}

RecordLayout layout_of_vscsi(const std::string& begin) {
  const auto version_at = [&](std::size_t offset) {
    return offset + 2 > begin.size() ? -1 : value_at<std::uint16_t>(begin.data() + offset) >> 8;
  };
  const auto is_version = [&](int version, std::size_t offset, std::size_t record) {
    const int second = version_at(record + offset);
    return version_at(offset) == version && (second == version || second == -1);
  };
  if (is_version(1, 14, 32)) return {.record = 32, .id = {16, 'Q'}, .size = {4, 'I'}};
  if (is_version(2, 2, 40)) return {.record = 40, .id = {16, 'Q'}, .size = {8, 'I'}};
  throw ConfigError("expected records of type vscsi in version 1 or 2, found other bytes");
}

}  // namespace

std::uint64_t RecordField::bits(const char* record) const {
  std::uint64_t bits = 0;
  std::memcpy(&bits, record + offset, static_cast<std::size_t>(width_of(type)));
  return bits;
}

std::int64_t RecordField::value(const char* record) const {
  const char* const at = record + offset;
  switch (type) {
    case 'c':
    case 'b':
      return value_at<std::int8_t>(at);
    case 'h':
      return value_at<std::int16_t>(at);
    case 'i':
      return value_at<std::int32_t>(at);
    case 'q':
      return value_at<std::int64_t>(at);
    case 'f':
    case 'd': {
      const double number = type == 'f' ? value_at<float>(at) : value_at<double>(at);
      constexpr double beyond = 9e18;
      return std::isfinite(number) && std::abs(number) < beyond
                 ? static_cast<std::int64_t>(std::floor(number))
                 : -1;
    }
    default: {
      const std::uint64_t number = bits(record);
      return number >> 63U != 0 ? -1 : static_cast<std::int64_t>(number);
    }
  }
}

RecordLayout layout_of_trace(const std::string& type, const std::string& begin, const std::string& format,
                             int id_column, int size_column) {
  if (type == "oracleGeneral") return {.record = 24, .id = {4, 'Q'}, .size = {12, 'I'}};
  if (type == "oracleGeneralOpNS") return {.record = 27, .id = {4, 'Q'}, .size = {12, 'I'}};
  if (type == "twr") return {.record = 20, .id = {4, 'Q'}, .size = {12, 'I'}, .is_key_and_value = true};
  if (type == "lcs") return layout_of_lcs(begin);
  if (type == "vscsi") return layout_of_vscsi(begin);
  TANDEM_CHECK(type == "binary", type);
  return layout_of_fields(format, id_column, size_column);
}

}  // namespace tandem
