// A page of a report as data: headings, notes, tables and charts in their order. Reports and studies build
// pages; the same page is rendered as plain text, as Markdown and as HTML.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "validation/report/platform_parts.hpp"

namespace tandem::validation {

struct Cell {
  enum class Mark {
    none,
    beyond,
    badge,
    best
  };  ///< beyond a limit; a state like "passed"; highlighted: bold, or with a star
  Cell(std::string own_text, Mark own_mark = Mark::none, std::string own_hint = {})
      : text(std::move(own_text)), mark(own_mark), hint(std::move(own_hint)) {}
  Cell(const char* own_text) : text(own_text) {}

  std::string text;  ///< "-": not known
  Mark mark = Mark::none;
  std::string hint;  ///< shown on HTML pages under the mouse pointer
};

/// Columns of words are aligned to the left, columns of figures to the right. The first column names the row.
struct Column {
  std::string name;
  bool words = false;
};

struct Row {
  enum class Kind { plain, part, total };  ///< `part`: of the row above; `total`: the sum of the rows above
  std::vector<Cell> cells;
  Kind kind = Kind::plain;
};

struct Table {
  enum class Size { normal, narrow, scrolling };
  std::vector<Column> columns{};
  std::vector<Row> rows{};
  Size size = Size::normal;
};

/// A canvas that the script of an HTML page draws on, with an empty legend above it. Plain text and Markdown
/// leave it out.
struct Chart {
  std::string id;
  std::string title;
  std::size_t height;  ///< pixels
};

struct Block;
struct Heading {
  int level;  ///< 2 or 3; the title of the page is the only one of level 1
  std::string text;
};
struct Note {
  std::string text;
};
struct Bullets {
  std::vector<std::string> texts;
};
struct Code {
  std::string text;
  bool is_failure = false;
};
/// Figures in large print. Plain text and Markdown leave them out, since tables repeat them.
struct Tile {
  std::string name;
  std::string value;
  std::string hint;  ///< shown under the mouse pointer
};
struct Tiles {
  std::vector<Tile> tiles;
};
/// The first thing that a reader should know. The state is "PASSED", "INCONCLUSIVE" ...
struct Banner {
  std::string state;
  std::string text;
  std::vector<std::string> points = {};  ///< reasons and advice
};
/// The answer to the question of a report, in a box.
struct AnswerBox {
  std::string question;  ///< empty: none was asked
  std::string text;
  std::vector<std::string> points;
};
/// Charts next to each other.
struct Charts {
  std::vector<Chart> charts;
};
/// A part that HTML pages show folded.
struct Details {
  std::string title;
  std::vector<Block> content;
};
/// The part of a report that shows one chosen configuration. Only HTML pages have it; their script builds it.
struct Explorer {};
/// Only HTML pages have it.
struct Drawing {
  DrawnPlatform platform;
};

struct Block {
  std::variant<Heading, Note, Bullets, Code, Tiles, Banner, AnswerBox, Table, Charts, Details, Explorer,
               Drawing>
      kind;
};

struct Page {
  std::string title;
  std::string kind;  ///< "Tandem study", above the title
  std::vector<Block> blocks{};

  template <class... B>
  void add(B&&... block) {
    (blocks.push_back({std::forward<B>(block)}), ...);
  }
};

/// How a column of a table is read from the object of a row.
template <class Object>
struct ColumnOf {
  std::string name;
  std::function<Cell(const Object&)> cell;
  bool words = false;
};
template <class Object>
Table table_of(const std::vector<const Object*>& rows,
               const std::type_identity_t<std::vector<ColumnOf<Object>>>& columns) {
  Table table;
  for (const auto& column : columns) table.columns.push_back({column.name, column.words});
  for (const Object* row : rows) {
    auto& cells = table.rows.emplace_back().cells;
    for (const auto& column : columns) cells.push_back(column.cell(*row));
  }
  return table;
}
/// Only the named columns.
Table narrowed(Table table, const std::vector<std::string>& names);
/// Without the columns in which every row has "-"; the first column stays.
Table without_empty_columns(Table table);

/// For a terminal, without the title.
std::string to_text(const Page& page);
std::string to_markdown(const Page& page);
/// One self-contained HTML page. `scripts` draw the charts from `data`.
std::string to_html(const Page& page, nlohmann::json data, const std::vector<std::string_view>& scripts);

/// Writes report.json, report.md and report.html. Errors: WorldError when a file cannot be written.
void write_report_files(const std::string& directory, const nlohmann::json& document,
                        const std::string& markdown, const std::string& html);

}  // namespace tandem::validation
