#include "validation/report/platform_svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "platforms/xml_text.hpp"

namespace tandem::validation {
namespace {

constexpr int usual_width = 460;
constexpr int usual_shift = 150;  ///< of the box furthest to the right; with more, the picture is wider
constexpr int indent = 30;        ///< from a box to those below it
constexpr int spine = 12;         ///< from the left of a box to the line below it
constexpr int lane_distance = 10;
constexpr int padding = 10;  ///< inside a box
constexpr int line_height = 16;
constexpr int gap = 10;        ///< between children
constexpr int joint = 16;      ///< from the top of a box to the line that ends at it
constexpr int lane_ends = 25;  ///< from there on lanes end at it
constexpr int lane_end_gap = 6;

constexpr const char* style =
    ".platform line { stroke: #5b6675; stroke-width: 1.5; stroke-linecap: square; } "
    ".platform line.shared { stroke: #2563eb; stroke-width: 6; } "
    ".platform line.mesh { stroke-width: 3; stroke-dasharray: 3 6; } "
    ".platform line.direct { stroke: #1a7f37; stroke-width: 2; } "
    ".platform line.binds { stroke: #c5221f; } .platform line.link.binds { stroke-width: 3; } "
    ".platform rect { fill: #f6f8fa; stroke: #c9d1da; } "
    ".platform rect.inner { fill: #eef4ff; stroke: #b6cdf6; } .platform rect.binds { stroke: #c5221f; } "
    ".platform text { font: 11.5px sans-serif; fill: #4a5462; } "
    ".platform text.name { font-size: 12.5px; font-weight: 600; fill: #1b2430; } "
    ".platform text.binds { fill: #c5221f; font-weight: 600; }";

/// The width of one character in usual fonts without serifs, at most, in widths of the letter m.
double share_of_em(char32_t letter) {
  if (letter >= 0x2E80) return 1.05;
  if (letter >= 0x80) return 0.75;
  const std::string_view narrow = " .,:;|'!ijl()[]/-", wide = "mwMW%@";
  const char plain = static_cast<char>(letter);
  if (narrow.find(plain) != std::string_view::npos) return 0.37;
  if (wide.find(plain) != std::string_view::npos) return 1.0;
  return plain >= 'A' && plain <= 'Z' ? 0.78 : 0.64;
}

struct Letter {
  std::string_view bytes;
  double width;
};

std::vector<Letter> letters_of(std::string_view text, double size) {
  std::vector<Letter> letters;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at + 1;
    while (end < text.size() && (text[end] & 0xC0) == 0x80) ++end;
    const auto first = static_cast<unsigned char>(text[at]);
    // The first byte states how many bytes a letter has.
    const char32_t letter = first < 0x80 ? first : first < 0xE2 ? 0xA0 : 0x2E80;
    letters.push_back({text.substr(at, end - at), size * share_of_em(letter)});
    at = end;
  }
  return letters;
}

/// Whether the text ends with a number and a space: the unit follows.
bool ends_with_figure(std::string_view text) {
  const std::size_t space = text.size() - 1;
  const std::size_t before = text.find_last_not_of("0123456789.", space - 1);
  return before < space - 1 && text[before] == ' ';
}

/// Lines no wider than `width`: broken at spaces, otherwise behind signs in a name, otherwise anywhere.
std::vector<std::string> wrapped(const std::string& text, double size, int width) {
  std::vector<std::string> lines;
  std::string line;
  std::size_t space = 0, sign = 0;  ///< where the line may be broken; 0: nowhere
  const auto width_of = [&](const std::string& part) {
    double sum = 0;
    for (const Letter& letter : letters_of(part, size)) sum += letter.width;
    return sum;
  };
  for (const Letter& letter : letters_of(text, size)) {
    if (width_of(line) + letter.width > width && !line.empty()) {
      const std::size_t end = space > 0 ? space : sign > 0 ? sign : line.size();
      lines.push_back(line.substr(0, end));
      line.erase(0, space > 0 ? end + 1 : end);
      space = sign = 0;
    }
    line += letter.bytes;
    if (letter.bytes == " " && line.size() > 2 && !ends_with_figure(line)) space = line.size() - 1;
    if (std::string_view("-_./,").find(letter.bytes) != std::string_view::npos) sign = line.size();
  }
  lines.push_back(line);
  return lines;
}

/// From the left of a box to that of its children, with room for lanes.
int child_shift(const DrawnNode& node) {
  return indent + lane_distance * static_cast<int>(node.lanes.size());
}

/// From the left of a box to that of the box below it which is furthest to the right.
int deepest_shift(const DrawnNode& node) {
  int largest = 0;
  for (const auto& child : node.children)
    largest = std::max(largest, child_shift(node) + deepest_shift(child));
  return largest;
}

std::string line(int x1, int y1, int x2, int y2, const std::string& classes) {
  return fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" class=\"{}\"/>\n", x1, y1, x2, y2,
                     classes);
}

std::string with_binds(const std::string& style_class, bool binds) {
  return style_class + (binds ? " binds" : "");
}

/// A direct link between two children: it has begun at one, and not reached the other.
struct Lane {
  const DrawnLane* link;
  int x;
  int from_y = 0;
};

/// Collects the parts from the top of the picture to its bottom.
class Picture {
 public:
  explicit Picture(const DrawnPlatform& drawing)
      : title_(drawing.title), width_(usual_width + std::max(0, deepest_shift(drawing.root) - usual_shift)) {
    std::vector<Lane> none;
    add_box(drawing.root, 4, none, 0);
    add_children(drawing.root, 4);
  }

  std::string document() const {
    return fmt::format(
        "<svg xmlns=\"http:"
        "//www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" role=\"img\" "
        "class=\"platform\" aria-label=\"the platform {2}\">\n<style>{3}</style>\n{4}{5}</svg>\n",
        width_, y_ + 4, platforms::xml_text(title_), style, behind_, parts_);
  }

 private:
  /// Below the present texts.
  void add_label(const std::string& text, int x, const std::string& classes) {
    const bool is_bold = classes.starts_with("name") || classes.ends_with("binds");
    const double size = classes.starts_with("name") ? 12.5 : 11.5;
    const auto lines = wrapped(text, size * (is_bold ? 1.1 : 1.0), width_ - x - padding - 8);
    std::string spans;
    for (std::size_t i = 0; i < lines.size(); ++i)
      spans += fmt::format("<tspan x=\"{}\" y=\"{}\">{}</tspan>", x,
                           y_ + 12 + line_height * static_cast<int>(i), platforms::xml_text(lines[i]));
    parts_ += fmt::format("<text class=\"{}\">{}</text>\n", classes, spans);
    y_ += line_height * static_cast<int>(lines.size());
  }

  /// Also adds the links that begin at the box, below its rows.
  void add_box(const DrawnNode& node, int x, std::vector<Lane>& starting, int ending) {
    const int top = y_;
    const std::string before = std::exchange(parts_, "");
    y_ += 4;
    for (const DrawnRow& row : node.rows) add_label(row.text, x + padding, with_binds(row.kind, row.binds));
    for (Lane& lane : starting) {
      lane.from_y = y_ + 8;
      behind_ += line(lane.x, lane.from_y, x, lane.from_y, with_binds("direct", lane.link->binds));
      add_label(lane.link->text, x + padding, with_binds("link", lane.link->binds));
    }
    y_ = std::max(y_ + 5, top + lane_ends + lane_end_gap * ending);
    const std::string classes = with_binds(node.kind == "host" ? "host" : "inner", node.binds);
    std::string boxes;
    for (const int behind : node.count > 1 ? std::vector{6, 3, 0} : std::vector{0})
      boxes +=
          fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"5\" class=\"{}\"/>\n",
                      x + behind, top + behind, width_ - x - 10, y_ - top, behind > 0 ? "more" : classes);
    if (node.count > 1) y_ += 6;
    parts_ = before + boxes + parts_;
  }

  void add_children(const DrawnNode& node, int x) {
    const auto& children = node.children;
    const auto& links = node.lanes;
    if (children.empty()) return;
    const int top = y_, child_x = x + child_shift(node);
    const bool has_spine = node.kind != "direct";
    std::vector<Lane> lanes;
    for (const auto& link : links)
      lanes.push_back({&link, x + spine + 10 + lane_distance * static_cast<int>(lanes.size())});
    int last = y_;
    for (std::size_t i = 0; i < children.size(); ++i) {
      const DrawnNode& child = children[i];
      y_ += gap;
      bool binds = false;
      for (const DrawnLabel& link : child.link) {
        add_label(link.text, links.empty() ? x + spine + 10 : child_x, with_binds("link", link.binds));
        binds = binds || link.binds;
      }
      y_ += 3;
      last = y_ + joint;
      if (has_spine) behind_ += line(x + spine, last, child_x, last, binds ? "link binds" : "link");
      add_child(child, child_x, lanes, i);
    }
    if (has_spine) behind_ += line(x + spine, top, x + spine, last, with_binds(node.kind, node.binds));
  }

  void add_child(const DrawnNode& child, int x, std::vector<Lane>& lanes, std::size_t index) {
    std::vector<Lane> starting;
    int ending = 0;
    for (const Lane& lane : lanes)
      if (lane.link->from == index) starting.push_back(lane);
    for (const Lane& lane : lanes)
      if (lane.link->to == index) {
        const int y = y_ + lane_ends + lane_end_gap * ending++;
        behind_ += line(lane.x, lane.from_y, lane.x, y, with_binds("direct", lane.link->binds));
        behind_ += line(lane.x, y, x, y, with_binds("direct", lane.link->binds));
      }
    add_box(child, x, starting, ending);
    for (const Lane& started : starting)
      for (Lane& lane : lanes)
        if (lane.link == started.link) lane.from_y = started.from_y;
    add_children(child, x);
  }

  std::string title_;
  int width_;
  int y_ = 4;
  std::string behind_;  ///< is drawn first
  std::string parts_;
};

}  // namespace

std::string platform_svg(const DrawnPlatform& drawing) { return Picture(drawing).document(); }

}  // namespace tandem::validation
