// The rows of comma-separated values as RFC 4180 describes them, for every file that Tandem reads. Knows
// nothing of what the columns mean.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tandem::csv {

struct Field {
  std::string text;
  bool is_quoted = false;
};

/// The rows of a text. Blanks before a quote, carriage returns and a mark of UTF-8 at the begin are no part
/// of the fields.
class Rows {
 public:
  enum class Between { nothing, comments };
  /// `name` of the file for messages. `between`: whether rows may have empty lines between them, and lines
  /// that begin with #.
  Rows(std::string name, std::string text, Between between);

  /// Reads the next row; false at the end. Errors: ConfigError for a quote that does not end.
  bool next(std::vector<Field>& fields);
  const std::string& name() const { return name_; }
  /// "FILE:LINE", where the row that was read last begins.
  std::string place() const;

 private:
  void skip_between();

  std::string name_;
  std::string text_;
  Between between_;
  std::size_t position_ = 0;
  int line_ = 1;      ///< of the next character
  int row_line_ = 1;  ///< where the row that was read last begins
};

}  // namespace tandem::csv
