// Reads tables of users: CSV with a header, columns found by name in any order. Every error names file, line
// and column, what was expected and what was found.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "policies/vocabulary/csv_rows.hpp"

namespace tandem {

class CsvTable {
 public:
  /// Reads the header. `what` the file should be, for messages: "a table of lifetimes". Errors: ConfigError
  /// when the file cannot be opened, has no header, or names a column twice.
  CsvTable(const std::string& path, const std::string& what);
  /// The same of a text. `name` of the file for messages.
  CsvTable(const std::string& name, std::string text, const std::string& what);

  const std::string& path() const { return rows_.name(); }
  /// In the order of the file.
  const std::vector<std::string>& columns() const { return columns_; }
  bool has(const std::string& column) const { return places_.contains(column); }
  /// Errors: ConfigError unless the table has the column.
  void expect(const std::string& column) const;
  [[noreturn]] void fail_header(const std::string& expected, const std::string& found) const;

  /// Goes to the next row; skips empty lines and those that begin with #. False at the end. Errors:
  /// ConfigError for a row with another number of fields than the header, or a quote that does not end.
  bool next_row();

  // Of the current row. Errors: ConfigError naming the place.

  /// "FILE:LINE".
  std::string place() const { return rows_.place(); }
  /// The text without blanks around it; empty also when the column is missing.
  std::string text(const std::string& column) const;
  bool is_given(const std::string& column) const { return !text(column).empty(); }
  /// Seconds, at least 0: a number, or one with a unit.
  double duration(const std::string& column) const;
  /// A finite number above 0.
  double positive(const std::string& column) const;
  /// The same, or `absent` where the field is empty.
  double positive_or(const std::string& column, double absent) const;
  /// A whole number within these bounds.
  int whole(const std::string& column, int least, int most) const;
  /// Seconds since 1970 of a time in UTC (ISO 8601). All times of a file must mark UTC in the same way: with
  /// Z, with +00:00, or with nothing.
  double clock(const std::string& column);
  /// Days since 1970 of a date such as 2024-05-01.
  int date(const std::string& column) const;
  [[noreturn]] void fail(const std::string& column, const std::string& expected,
                         const std::string& found) const;

 private:
  bool read_row();

  csv::Rows rows_;
  std::vector<std::string> columns_;
  std::map<std::string, std::size_t> places_;
  std::vector<std::string> fields_;
  std::optional<std::string> zone_;  ///< how the first time marks UTC
};

}  // namespace tandem
