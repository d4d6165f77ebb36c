#include "runtime/rank/rank_options.hpp"

#include <getopt.h>

#include <array>
#include <variant>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/text_parts.hpp"

namespace tandem {
namespace {

constexpr const char* usage =
    "usage: tandem-rank JOB.json --out DIR [--parts NAME [--apart]] [--create [--force]] [--data FILE] "
    "[--repetition N] [--command "
    "TEXT] "
    "[--calibrate PROFILE.json] "
    "[--cluster JSON] [--trace] [--operations] [--decisions] [--requests] [--losses]\n"
    "       tandem-rank MEASUREMENTS.json --links --out FILE\n"
    "       tandem-rank REQUEST --discover";

int to_number(const std::string& text) {
  const auto number = parse_number<int>(text);
  if (!number || *number < 0)
    throw ConfigError("--repetition: expected an integer >= 0, found '" + text + "'");
  return *number;
}

using Text = std::string RankOptions::*;
using Flag = bool RankOptions::*;
using Number = int RankOptions::*;

/// An option and the member that it sets; one with a text or a number has an argument.
struct Known {
  const char* name;
  std::variant<Text, Flag, Number> member;
};

constexpr std::array<Known, 18> known_options = {{{"out", &RankOptions::out},
                                                  {"parts", &RankOptions::parts},
                                                  {"apart", &RankOptions::apart},
                                                  {"create", &RankOptions::create},
                                                  {"force", &RankOptions::force},
                                                  {"data", &RankOptions::data},
                                                  {"repetition", &RankOptions::repetition},
                                                  {"command", &RankOptions::command},
                                                  {"calibrate", &RankOptions::calibrate},
                                                  {"launched", &RankOptions::launched},
                                                  {"discover", &RankOptions::discovers},
                                                  {"links", &RankOptions::links},
                                                  {"cluster", &RankOptions::cluster},
                                                  {"trace", &RankOptions::trace},
                                                  {"operations", &RankOptions::operations},
                                                  {"decisions", &RankOptions::decisions},
                                                  {"requests", &RankOptions::requests},
                                                  {"losses", &RankOptions::losses}}};

void set(RankOptions& options, const Known& known, const char* argument) {
  if (const auto* text = std::get_if<Text>(&known.member))
    options.** text = argument;
  else if (const auto* number = std::get_if<Number>(&known.member))
    options.** number = to_number(argument);
  else
    options.*std::get<Flag>(known.member) = true;
}

}  // namespace

RankOptions parse_rank_options(int argc, char** argv) {
  std::array<option, known_options.size() + 1> all{};
  for (std::size_t i = 0; i < known_options.size(); ++i) {
    const bool is_flag = std::holds_alternative<Flag>(known_options[i].member);
    all[i] = {known_options[i].name, is_flag ? no_argument : required_argument, nullptr, 0};
  }
  RankOptions options;
  optind = 0;  // getopt starts again
  opterr = 0;
  int number = 0;
  for (int found = 0; (found = getopt_long(argc, argv, "", all.data(), &number)) != -1;) {
    if (found != 0) throw ConfigError(usage);
    set(options, known_options[static_cast<std::size_t>(number)], optarg);
  }
  if (optind + 1 != argc || options.out.empty() != options.discovers) throw ConfigError(usage);
  options.document = argv[optind];
  return options;
}

}  // namespace tandem
