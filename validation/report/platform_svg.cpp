#include "validation/report/platform_svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "platforms/xml_text.hpp"

namespace tandem::validation {
namespace {

using nlohmann::json;

constexpr int row = 40;  ///< height of a host, with the gap below it
constexpr int gap = 16;  ///< between switches
constexpr int switch_width = 150;
constexpr int host_width = 330;
constexpr int host_distance = 410;  ///< from the left of a switch to that of its hosts

constexpr const char* style =
    ".platform line { stroke: #5b6675; stroke-width: 1.5; } .platform line.trunk { stroke: #2563eb; "
    "stroke-width: 3; } "
    ".platform rect { fill: #f6f8fa; stroke: #dfe4ea; } .platform rect.switch { fill: #eef4ff; stroke: "
    "#b6cdf6; } "
    ".platform text { font: 12.5px sans-serif; fill: #1b2430; } "
    ".platform text.small { font-size: 11.5px; fill: #5b6675; } .platform text.strong { font-weight: 600; }";

std::string label(int x, int y, const std::string& text, const char* style_class) {
  return fmt::format("<text x=\"{}\" y=\"{}\" class=\"{}\">{}</text>\n", x, y, style_class,
                     platforms::xml_text(text));
}
std::string line(int x1, int y1, int x2, int y2, const char* style_class) {
  return fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" class=\"{}\"/>\n", x1, y1, x2, y2,
                     style_class);
}
std::string box(int x, int y, int width, int height, const char* style_class) {
  return fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"5\" class=\"{}\"/>\n", x, y,
                     width, height, style_class);
}

/// Collects the parts from the top of the picture to its bottom.
class Picture {
 public:
  explicit Picture(const json& drawing) : drawing_(drawing), left_(trunks().empty() ? 10 : 250) {
    for (std::size_t i = 0; i < switches().size(); ++i) add_switch(i);
    for (std::size_t i = 0; i < trunks().size(); ++i) add_trunk(i);
    label_uplinks();
  }

  std::string document() const {
    const int width = left_ + host_distance + host_width + 10;
    return fmt::format(
        "<svg xmlns=\"http:"
        "//www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" role=\"img\" "
        "class=\"platform\" aria-label=\"the platform {2}\">\n<style>{3}</style>\n{4}{5}</svg>\n",
        width, y_, platforms::xml_text(drawing_.at("title")), style, behind_, parts_);
  }

 private:
  const json& switches() const { return drawing_.at("switches"); }
  const json& trunks() const { return drawing_.at("trunks"); }

  void add_switch(std::size_t index) {
    const json& one = switches()[index];
    const json &hosts = one.at("hosts"), &inside = one.at("inside");
    const int height = static_cast<int>(hosts.size()) * row, middle = y_ + height / 2 - 4;
    const int lines = static_cast<int>(inside.size());
    middles_.push_back(middle);
    parts_ += box(left_, y_, switch_width, height - 8, "switch");
    parts_ += label(left_ + 12, middle + 4 - 8 * lines,
                    switches().size() == 1 ? "switch" : fmt::format("switch {}", index + 1), "strong");
    for (int i = 0; i < lines; ++i)
      parts_ += label(left_ + 12, middle + 14 + 15 * i, inside[static_cast<std::size_t>(i)], "small");
    for (const json& host : hosts) add_host(host);
    y_ += gap;
  }

  void add_host(const json& host) {
    const int middle = y_ + (row - 8) / 2, x = left_ + host_distance;
    parts_ += line(left_ + switch_width, middle, x, middle, "link");
    parts_ += label(left_ + switch_width + 12, middle - 5, host.at("link"), "small");
    parts_ += box(x, y_, host_width, row - 8, "host");
    parts_ += label(x + 10, y_ + 14, host.at("name"), "strong");
    parts_ += label(x + 10, y_ + 27, host.at("about"), "small");
    y_ += row;
  }

  /// Of a trunk; four are drawn beside each other.
  static int bar_of(std::size_t trunk) { return 12 + 12 * static_cast<int>(trunk % 4); }

  void add_trunk(std::size_t index) {
    const json& trunk = trunks()[index];
    const int x = bar_of(index);
    std::vector<int> ends;
    std::string names;
    for (const std::size_t end : trunk.at("between")) {
      ends.push_back(middles_[end]);
      names += fmt::format("{}switch {}", names.empty() ? "" : ", ", end + 1);
    }
    behind_ += line(x, *std::ranges::min_element(ends), x, *std::ranges::max_element(ends), "trunk");
    for (const int end : ends) behind_ += line(x, end, left_, end, "trunk");
    const std::string text = trunk.at("label");
    if (text.empty()) return;
    parts_ += label(x, y_ + 4, fmt::format("between {}: {}", names, text), "small");
    y_ += 16;
  }

  void label_uplinks() {
    if (trunks().empty()) return;
    const int x = bar_of(std::min<std::size_t>(trunks().size(), 4) - 1) + 10;
    for (std::size_t i = 0; i < switches().size(); ++i)
      parts_ += label(x, middles_[i] - 6, switches()[i].at("link"), "small");
  }

  const json& drawing_;
  int left_;  ///< of the switches
  int y_ = 8;
  std::vector<int> middles_;  ///< of the switches
  std::string behind_;        ///< what is drawn first
  std::string parts_;
};

}  // namespace

std::string platform_svg(const json& drawing) { return Picture(drawing).document(); }

}  // namespace tandem::validation
