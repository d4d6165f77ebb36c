// The layouts of binary traces: where in a record the id and the size are.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

namespace tandem {

/// A number in a record, lowest byte first. No type: the record does not have it.
struct RecordField {
  std::int64_t offset = 0;
  char type = '\0';  ///< of Python's struct: c b B h H i I q Q f d

  /// The bits of the number; those of negative and floating-point numbers too, so that ids differ.
  std::uint64_t bits(const char* record) const;
  /// The number, rounded down.
  std::int64_t value(const char* record) const;
};

struct RecordLayout {
  std::int64_t header = 0;  ///< bytes before the first record
  std::int64_t record = 0;  ///< bytes
  RecordField id;
  RecordField size;
  bool is_key_and_value = false;  ///< twr: `size` has those of a key (10 bits) and a value (22 bits)
};

/// Bytes of the largest header.
inline constexpr std::int64_t largest_trace_header = 8192;

/// The layout of a trace of a type: oracleGeneral, oracleGeneralOpNS, lcs, vscsi, twr, or binary, whose
/// fields `format` names ("<IQI"), columns counted from 1, 0: there is none. `begin`: the first bytes of the
/// trace, at most `largest_trace_header`. Errors: ConfigError with what was expected and found.
RecordLayout layout_of_trace(const std::string& type, const std::string& begin, const std::string& format,
                             int id_column, int size_column);

}  // namespace tandem
