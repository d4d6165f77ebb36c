#include "validation/timeline.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "validation/format.hpp"
#include "validation/html.hpp"
#include "workloads/records/records.hpp"

namespace tandem::validation {
namespace {

using nlohmann::json;

/// One a phase, in the order of `Phase`: what waits is pale, what computes is strong.
constexpr std::array<const char*, phase_count> phase_colors = {"#8d99ae", "#2a9d8f", "#17685f",
                                                               "#8e6bbf", "#f2c14e", "#dfc8bb"};
constexpr int row_height = 14;

std::string row(const char* world, const json& slices, double length, const json& phases) {
  std::string text =
      fmt::format("<span class=\"world {0}\">{0}</span><svg height=\"{1}\">", world, row_height);
  for (const auto& slice : slices) {
    const std::size_t phase = slice[2];
    const double start = slice[0], duration = slice[1];
    text += fmt::format(
        "<rect x=\"{:.3f}%\" width=\"{:.3f}%\" height=\"{}\" fill=\"{}\"><title>step {}, {}: "
        "{}</title></rect>",
        100 * start / length, 100 * duration / length, row_height, phase_colors.at(phase),
        slice[3].get<int>(), phases[phase].get<std::string>(), with_unit(duration, Unit::seconds));
  }
  return text + "</svg>\n";
}

/// Distance between ticks: 1, 2 or 5 times a power of ten, about five of them.
double tick_distance(double length) {
  const double power = std::pow(10.0, std::floor(std::log10(length / 5)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (length / (factor * power) <= 7) return factor * power;
  return 10 * power;
}

/// "0.5 s", "150 ms": multiples of `distance`, which are round numbers, in its unit.
std::string round_time(double time, double distance) {
  if (distance >= 0.1) return fmt::format("{:.6g} s", time);
  if (distance >= 1e-4) return fmt::format("{:.6g} ms", time * 1e3);
  return fmt::format("{:.6g} µs", time * 1e6);
}

std::string axis(double length) {
  std::string text = "<span></span><span></span><svg class=\"axis\" height=\"20\">";
  const double distance = tick_distance(length);
  for (int tick = 0; tick * distance <= length * 0.97; ++tick) {
    const double time = tick * distance;
    const double place = 100 * time / length;
    text +=
        fmt::format("<line x1=\"{0:.3f}%\" x2=\"{0:.3f}%\" y1=\"0\" y2=\"5\" stroke=\"#9aa5b4\"/>", place);
    text += fmt::format("<text x=\"{:.3f}%\" y=\"17\" text-anchor=\"{}\">{}</text>", place,
                        tick == 0 ? "start" : "middle", round_time(time, distance));
  }
  return text + "</svg>\n";
}

}  // namespace

std::string phase_legend(const json& phases) {
  std::string text = "<div class=\"legend\">";
  for (std::size_t i = 0; i < phases.size(); ++i)
    text += fmt::format("<span><i style=\"background:{}\"></i>{}</span>", phase_colors.at(i),
                        phases[i].get<std::string>());
  return text + "</div>\n";
}

std::string timeline(const json& timeline, const json& phases) {
  const double length = timeline.at("length_s");
  std::string text = "<div class=\"timeline\">\n";
  for (const auto& rank : timeline.at("ranks")) {
    text += fmt::format("<span class=\"rank\">{}</span>", html::escaped(rank.at("label")));
    text += row("simulated", rank.at("simulated"), length, phases);
    text += row("measured", rank.at("measured"), length, phases);
    text += "<span class=\"gap\"></span>\n";
  }
  text += axis(length) + "</div>\n";
  if (const int left_out = timeline.at("ranks_left_out"); left_out > 0)
    text += fmt::format("<p class=\"lead\">{} further workers are not shown.</p>\n", left_out);
  return text;
}

}  // namespace tandem::validation
