#include "validation/report/page.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

#include "platforms/xml_text.hpp"
#include "policies/vocabulary/check.hpp"
#include "validation/page/pieces.hpp"
#include "validation/report/platform_svg.hpp"
#include "workloads/files/whole_file.hpp"

namespace tandem::validation {
namespace {

using nlohmann::json;

void erase_column(Table& table, std::size_t column) {
  const auto at = static_cast<std::ptrdiff_t>(column);
  table.columns.erase(table.columns.begin() + at);
  for (auto& row : table.rows) row.cells.erase(row.cells.begin() + at);
}

bool is_words(const Table& table, std::size_t column) { return column == 0 || table.columns[column].words; }

template <class Writer>
std::string joined(const std::vector<Block>& blocks, const Writer& writer) {
  std::string text;
  for (const auto& block : blocks) text += std::visit(writer, block.kind);
  return text;
}

std::string items_of(const Bullets& list) {
  std::string text;
  for (const auto& item : list.texts) text += "- " + item + '\n';
  return text;
}

// ---- Plain text ----

/// In characters of UTF-8 text.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string text_of(const Table& table) {
  std::vector<std::vector<std::string>> lines(1);
  for (const auto& column : table.columns) lines[0].push_back(column.name);
  for (const auto& row : table.rows) {
    auto& line = lines.emplace_back();
    for (const auto& cell : row.cells) line.push_back((cell.mark == Cell::Mark::best ? "*" : "") + cell.text);
  }
  std::vector<std::size_t> widths(table.columns.size());
  for (const auto& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], width_of(line[i]));
  std::string text;
  for (const auto& line : lines) {
    std::string row;
    for (std::size_t i = 0; i < line.size(); ++i) {
      const std::string gap(widths[i] - width_of(line[i]), ' ');
      row += (i == 0 ? "" : "  ") + (is_words(table, i) ? line[i] + gap : gap + line[i]);
    }
    text += row.substr(0, row.find_last_not_of(' ') + 1) + '\n';
  }
  return text;
}

struct TextWriter {
  std::string operator()(const Heading& heading) const { return '\n' + heading.text + '\n'; }
  std::string operator()(const Note& note) const { return note.text + '\n'; }
  std::string operator()(const Bullets& list) const { return items_of(list); }
  std::string operator()(const Code& code) const { return code.text + '\n'; }
  std::string operator()(const Banner& banner) const {
    return '\n' + banner.state + ": " + banner.text + '\n' + items_of({banner.points});
  }
  std::string operator()(const AnswerBox& box) const {
    return (box.question.empty() ? "" : "Question: " + box.question + '\n') + box.text + '\n' +
           items_of({box.points});
  }
  std::string operator()(const Table& table) const { return text_of(table); }
  std::string operator()(const Details& details) const {
    return '\n' + details.title + '\n' + joined(details.content, *this);
  }
  std::string operator()(const auto&) const { return ""; }
};

// ---- Markdown ----

std::string markdown_of(const Table& table) {
  const auto line_of = [](const auto& cells, const auto& text_of_cell) {
    std::string line = "|";
    for (const auto& cell : cells) {
      line += ' ';
      for (const char c : std::string(text_of_cell(cell)))
        line += c == '|' ? std::string("\\|") : std::string(1, c);
      line += " |";
    }
    return line + '\n';
  };
  std::string text = line_of(table.columns, [](const Column& column) { return column.name; }) + '|';
  for (std::size_t i = 0; i < table.columns.size(); ++i) text += is_words(table, i) ? " --- |" : " ---: |";
  text += '\n';
  for (const auto& row : table.rows)
    text += line_of(row.cells, [&](const Cell& cell) {
      const bool is_bold = row.kind == Row::Kind::total || cell.mark == Cell::Mark::best;
      return is_bold ? "**" + cell.text + "**" : cell.text;
    });
  return text;
}

struct MarkdownWriter {
  std::string operator()(const Heading& heading) const {
    return std::string(static_cast<std::size_t>(heading.level), '#') + ' ' + heading.text + "\n\n";
  }
  std::string operator()(const Note& note) const { return note.text + "\n\n"; }
  std::string operator()(const Bullets& list) const { return items_of(list) + '\n'; }
  std::string operator()(const Code& code) const { return "```\n" + code.text + "\n```\n\n"; }
  std::string operator()(const Banner& banner) const {
    return "**" + banner.state + ".** " + banner.text + "\n\n" +
           (banner.points.empty() ? "" : items_of({banner.points}) + '\n');
  }
  std::string operator()(const AnswerBox& box) const {
    return (box.question.empty() ? "" : "*" + box.question + "*\n\n") + "**" + box.text + "**\n\n" +
           (box.points.empty() ? "" : items_of({box.points}) + '\n');
  }
  std::string operator()(const Table& table) const { return markdown_of(table) + '\n'; }
  std::string operator()(const Details& details) const {
    return "### " + details.title + "\n\n" + joined(details.content, *this);
  }
  std::string operator()(const auto&) const { return ""; }
};

// ---- HTML: the page's script makes elements of this ----

json json_of(const Cell& cell) {
  constexpr const char* marks[] = {"", "beyond", "badge", "best"};
  if (cell.mark == Cell::Mark::none) return cell.text;
  return {{"text", cell.text}, {"mark", marks[static_cast<std::size_t>(cell.mark)]}, {"hint", cell.hint}};
}

json json_of(const Table& table) {
  constexpr const char *kinds[] = {"", "part", "total"}, *sizes[] = {"", "narrow", "scrolling"};
  json columns = json::array(), rows = json::array();
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    columns.push_back({{"name", table.columns[i].name}, {"words", is_words(table, i)}});
  for (const auto& row : table.rows) {
    json cells = json::array();
    for (const auto& cell : row.cells) cells.push_back(json_of(cell));
    rows.push_back({{"kind", kinds[static_cast<std::size_t>(row.kind)]}, {"cells", std::move(cells)}});
  }
  return {{"kind", "table"},
          {"size", sizes[static_cast<std::size_t>(table.size)]},
          {"columns", std::move(columns)},
          {"rows", std::move(rows)}};
}

struct JsonWriter {
  json operator()(const Heading& heading) const {
    return {{"kind", "heading"}, {"level", heading.level}, {"text", heading.text}};
  }
  json operator()(const Note& note) const { return {{"kind", "note"}, {"text", note.text}}; }
  json operator()(const Bullets& list) const { return {{"kind", "bullets"}, {"texts", list.texts}}; }
  json operator()(const Code& code) const {
    return {{"kind", "code"}, {"text", code.text}, {"is_failure", code.is_failure}};
  }
  json operator()(const Tiles& tiles) const {
    json all = json::array();
    for (const auto& tile : tiles.tiles) all.push_back({tile.name, tile.value, tile.hint});
    return {{"kind", "tiles"}, {"tiles", std::move(all)}};
  }
  json operator()(const Banner& banner) const {
    return {{"kind", "banner"}, {"state", banner.state}, {"text", banner.text}, {"points", banner.points}};
  }
  json operator()(const AnswerBox& box) const {
    return {{"kind", "answer"}, {"question", box.question}, {"text", box.text}, {"points", box.points}};
  }
  json operator()(const Table& table) const { return json_of(table); }
  json operator()(const Charts& charts) const {
    json each = json::array();
    for (const auto& chart : charts.charts)
      each.push_back({{"id", chart.id}, {"title", chart.title}, {"height", chart.height}});
    return {{"kind", "charts"}, {"charts", std::move(each)}};
  }
  json operator()(const Details& details) const {
    return {{"kind", "details"}, {"title", details.title}, {"content", (*this)(details.content)}};
  }
  json operator()(const Drawing& drawing) const {
    return {{"kind", "drawing"},
            {"title", drawing.platform.title},
            {"note", drawing.platform.note},
            {"svg", platform_svg(drawing.platform)}};
  }
  json operator()(const Explorer&) const { return {{"kind", "explorer"}}; }
  json operator()(const std::vector<Block>& blocks) const {
    json all = json::array();
    for (const auto& block : blocks) all.push_back(std::visit(*this, block.kind));
    return all;
  }
};

/// JSON that can be placed inside a <script> element. "<" occurs in JSON only inside strings, where it may be
/// written as an escape, so no text can end the element or open a comment.
std::string json_in_script(const json& document) {
  std::string result;
  for (const char c : document.dump()) result += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return result;
}

/// The template with each {{name}} replaced by its value.
std::string filled(std::string_view text, const std::map<std::string, std::string>& values) {
  std::string result;
  for (auto begin = text.find("{{"); begin != std::string_view::npos; begin = text.find("{{")) {
    const auto end = text.find("}}", begin);
    TANDEM_CHECK(end != std::string_view::npos, "unfinished placeholder");
    const auto value = values.find(std::string(text.substr(begin + 2, end - begin - 2)));
    TANDEM_CHECK(value != values.end(), "placeholder", text.substr(begin, end - begin));
    result += std::string(text.substr(0, begin)) + value->second;
    text.remove_prefix(end + 2);
  }
  return result + std::string(text);
}

}  // namespace

Table narrowed(Table table, const std::vector<std::string>& names) {
  for (std::size_t i = table.columns.size(); i-- > 0;)
    if (std::find(names.begin(), names.end(), table.columns[i].name) == names.end()) erase_column(table, i);
  return table;
}

Table without_empty_columns(Table table) {
  for (std::size_t i = table.columns.size(); i-- > 1;)
    if (std::all_of(table.rows.begin(), table.rows.end(),
                    [&](const Row& row) { return row.cells[i].text == "-"; }))
      erase_column(table, i);
  return table;
}

std::string to_text(const Page& page) { return joined(page.blocks, TextWriter()); }

std::string to_markdown(const Page& page) {
  return "# " + page.title + "\n\n" + joined(page.blocks, MarkdownWriter());
}

std::string to_html(const Page& page, json data, const std::vector<std::string_view>& scripts) {
  data["page"] = {{"title", page.title}, {"kind", page.kind}, {"blocks", JsonWriter()(page.blocks)}};
  std::string elements;
  for (const auto script : scripts) elements += "<script>" + std::string(script) + "</script>\n";
  return filled(pieces::page, {{"title", platforms::xml_text(page.title)},
                               {"style", std::string(pieces::style)},
                               {"text", platforms::xml_text(page.title + '\n' + to_text(page))},
                               {"data", json_in_script(data)},
                               {"chart_library", std::string(pieces::chart_library)},
                               {"base", std::string(pieces::base)},
                               {"blocks", std::string(pieces::blocks)},
                               {"scripts", elements}});
}

void write_report_files(const std::string& directory, const json& document, const std::string& markdown,
                        const std::string& html) {
  const auto write = [&](const char* name, const std::string& text) {
    write_whole_file((std::filesystem::path(directory) / name).string(), text);
  };
  write("report.json", document.dump(1) + '\n');
  write("report.md", markdown);
  write("report.html", html);
}

}  // namespace tandem::validation
