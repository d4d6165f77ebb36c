// Comma-separated values as in RFC 4180: one header line, texts quoted where needed. Numbers are written so
// that reading them gives the same number; NaN is an empty field. Knows nothing of the meaning of columns.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policies/vocabulary/csv_rows.hpp"
#include "policies/vocabulary/units.hpp"

namespace tandem::csv {

/// Builds the text of a file row by row.
class Writer {
 public:
  void field(std::int64_t value);
  void field(int value) { field(std::int64_t{value}); }
  void field(double value);
  void field(Seconds value) { field(value.count()); }
  void field(std::string_view text);
  void end_row();
  const std::string& text() const { return text_; }

 private:
  void separate();
  std::string text_;
  bool row_begun_ = false;
};

/// Reads fields in order. Errors of every member: ConfigError naming file, line and column.
class Reader {
 public:
  /// `name` of the file for messages. The header must be `columns`. `earlier`: by column, its name in older
  /// files, which may lack the last ones if these have an empty one.
  Reader(std::string name, std::string text, std::vector<std::string> columns,
         const std::vector<std::string>& earlier);

  /// Goes to the next row; false at the end of the file.
  bool next_row();
  /// False when an older file lacks the next column.
  bool has_field() const { return taken_ < fields_.size(); }
  void field(std::int64_t& value);
  void field(int& value);
  void field(double& value);
  void field(Seconds& value);
  void field(std::string& text);

 private:
  const std::string& take();
  [[noreturn]] void fail(const std::string& expected) const;

  Rows rows_;
  std::vector<std::string> columns_;
  std::vector<Field> fields_;
  std::size_t columns_of_file_;
  std::size_t taken_ = 0;
};

}  // namespace tandem::csv
