#include "runtime/rank/rank_options.hpp"

#include <getopt.h>

#include <array>
#include <charconv>

#include "policies/vocabulary/check.hpp"

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
  int number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || rest != text.data() + text.size() || number < 0)
    throw ConfigError("--repetition: expected an integer >= 0, found '" + text + "'");
  return number;
}

}  // namespace

RankOptions parse_rank_options(int argc, char** argv) {
  const std::array<option, 18> known = {{{"out", required_argument, nullptr, 'o'},
                                         {"parts", required_argument, nullptr, 'i'},
                                         {"apart", no_argument, nullptr, 'a'},
                                         {"create", no_argument, nullptr, 'n'},
                                         {"force", no_argument, nullptr, 'f'},
                                         {"data", required_argument, nullptr, 'm'},
                                         {"repetition", required_argument, nullptr, 'r'},
                                         {"command", required_argument, nullptr, 'c'},
                                         {"calibrate", required_argument, nullptr, 'p'},
                                         {"discover", no_argument, nullptr, 'v'},
                                         {"links", no_argument, nullptr, 'l'},
                                         {"cluster", required_argument, nullptr, 'e'},
                                         {"trace", no_argument, nullptr, 't'},
                                         {"operations", no_argument, nullptr, 'x'},
                                         {"decisions", no_argument, nullptr, 'd'},
                                         {"requests", no_argument, nullptr, 'q'},
                                         {"losses", no_argument, nullptr, 's'},
                                         {nullptr, 0, nullptr, 0}}};
  RankOptions options;
  optind = 0;  // getopt starts again
  opterr = 0;
  for (int letter = 0; (letter = getopt_long(argc, argv, "", known.data(), nullptr)) != -1;) {
    switch (letter) {
      case 'o':
        options.out = optarg;
        break;
      case 'i':
        options.parts = optarg;
        break;
      case 'a':
        options.apart = true;
        break;
      case 'n':
        options.create = true;
        break;
      case 'f':
        options.force = true;
        break;
      case 'm':
        options.data = optarg;
        break;
      case 'r':
        options.repetition = to_number(optarg);
        break;
      case 'c':
        options.command = optarg;
        break;
      case 'p':
        options.calibrate = optarg;
        break;
      case 'v':
        options.discovers = true;
        break;
      case 'l':
        options.links = true;
        break;
      case 'e':
        options.cluster = optarg;
        break;
      case 't':
        options.trace = true;
        break;
      case 'x':
        options.operations = true;
        break;
      case 'd':
        options.decisions = true;
        break;
      case 'q':
        options.requests = true;
        break;
      case 's':
        options.losses = true;
        break;
      default:
        throw ConfigError(usage);
    }
  }
  if (optind + 1 != argc || options.out.empty() != options.discovers) throw ConfigError(usage);
  options.document = argv[optind];
  return options;
}

}  // namespace tandem
