#include "workloads/data/modelled_sizes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/rng.hpp"
#include "policies/vocabulary/text_parts.hpp"

namespace tandem {
namespace {

/// ImageNet-1k. Source of the mean: Zhao et al., MLSys 2023 (142 GB in 1.3 million images); of the deviation:
/// Dryden et al., Clairvoyant Prefetching for Distributed Machine Learning I/O, SC 2021 (to be checked
/// against the paper).
constexpr double imagenet_mean = 114'620.0, imagenet_deviation = 100'000.0;
/// Sizes and classes of all are in memory.
constexpr std::int64_t most_samples = 100'000'000;
constexpr std::int64_t imagenet_images = 1'281'167, imagenet_tests = 50'000;

[[noreturn]] void fail_option(const std::string& option, const std::string& expected,
                              const std::string& found) {
  throw ConfigError(fmt::format("data set 'sizes': workload.dataset_options.{}: expected {}, found {}",
                                option, expected, found));
}

using Draw = std::function<double(Rng&)>;

Draw distribution_of(const Options& options) {
  const std::string& name = options.text("distribution");
  const double mean = options.real("mean_bytes");
  const double deviation = options.real("deviation_bytes");
  if (name == "fixed") return [mean](Rng&) { return mean; };
  if (name == "uniform") {
    const double reach = std::sqrt(3.0) * deviation;
    if (reach >= mean)
      fail_option("deviation_bytes",
                  fmt::format("less than {:.0f}, so that no uniform size is negative", mean / std::sqrt(3.0)),
                  fmt::format("{}", deviation));
    return [mean, reach](Rng& random) { return mean + reach * (2.0 * random.uniform() - 1.0); };
  }
  const double variance = std::log(1.0 + deviation * deviation / (mean * mean));
  return [log_mean = std::log(mean) - variance / 2, sigma = std::sqrt(variance)](Rng& random) {
    return std::exp(log_mean + sigma * random.normal());
  };
}

/// One size per line.
std::vector<Bytes> read_sizes(const std::string& path) {
  std::ifstream file(path);
  if (!file)
    fail_option("file", "a file with a size in bytes per line", "'" + path + "', which cannot be read");
  std::vector<Bytes> sizes;
  for (std::string line; std::getline(file, line);) {
    const auto size = parse_number<std::int64_t>(line);
    if (!size || *size <= 0)
      throw ConfigError(fmt::format("{}:{}: expected the size of a sample in bytes, found '{}'", path,
                                    sizes.size() + 1, line));
    sizes.emplace_back(*size);
  }
  return sizes;
}

std::shared_ptr<Manifest> draw_part(const DatasetSetting& setting, const std::string& part,
                                    std::int64_t count) {
  const auto manifest = std::make_shared<Manifest>();
  const Draw draw = distribution_of(setting.options);
  const auto classes = static_cast<std::uint64_t>(setting.options.integer("classes"));
  Rng size = Rng::stream(setting.seed, "sizes of " + part);
  Rng label = Rng::stream(setting.seed, "classes of " + part);
  for (std::int64_t id = 0; id < count; ++id) {
    manifest->sizes.emplace_back(std::max<std::int64_t>(1, std::llround(draw(size))));
    manifest->labels.push_back(static_cast<std::uint16_t>(label.below(classes)));
  }
  return manifest;
}

}  // namespace

const std::vector<OptionSpec>& modelled_sizes_options() {
  static const std::vector<OptionSpec> options = {
      {"distribution",
       "of the sizes - fixed: all are the mean; lognormal, uniform: with the mean and the deviation; file: "
       "as the file lists them",
       std::string("lognormal"),
       {},
       {},
       {"fixed", "lognormal", "uniform", "file"}},
      {"mean_bytes", "mean size of a sample", imagenet_mean, 1.0, 1e12},
      {"deviation_bytes", "standard deviation of the sizes", imagenet_deviation, 0.0, 1e12},
      {"file", "distribution file: a text file with a size in bytes per line", std::string()},
      {"classes", "number of classes", std::int64_t{1000}, 2, double{Manifest::most_classes}},
      {"channels", "of an image, when it is decoded", std::int64_t{3}, 1, 4},
      {"side", "height and width of an image, when it is decoded; workload.image_size comes first",
       std::int64_t{224}, 1, 4096}};
  return options;
}

std::shared_ptr<const SampleSet> modelled_sizes(const DatasetSetting& setting) {
  const Options& options = setting.options;
  if (setting.train_samples > most_samples)
    throw ConfigError(fmt::format("data set 'sizes': expected at most {} samples, found {} requested",
                                  most_samples, setting.train_samples));
  const std::int64_t tests = setting.test_samples > 0 ? setting.test_samples : imagenet_tests;
  std::shared_ptr<Manifest> train;
  if (options.text("distribution") == "file") {
    const std::string& path = options.text("file");
    auto sizes = read_sizes(path);
    const std::int64_t wanted = setting.train_samples > 0 ? setting.train_samples : std::ssize(sizes);
    if (sizes.empty() || wanted > std::ssize(sizes))
      throw ConfigError(fmt::format("{}: expected the sizes of at least {} samples, a line each, found {}",
                                    path, std::max<std::int64_t>(1, wanted), sizes.size()));
    sizes.resize(static_cast<std::size_t>(wanted));
    DatasetSetting fixed = setting;
    auto values = options.values();
    values["distribution"] = std::string("fixed");
    fixed.options = Options::resolve("sizes", modelled_sizes_options(), values);
    train = draw_part(fixed, "train", wanted);
    train->sizes = std::move(sizes);
  } else {
    train = draw_part(setting, "train", setting.train_samples > 0 ? setting.train_samples : imagenet_images);
  }
  auto set = std::make_shared<SampleSet>();
  set->train = {train, nullptr};
  // Tests are evaluated, and never read one by one.
  const auto untold = std::make_shared<Manifest>();
  set->test = {untold, nullptr};
  DatasetInfo& info = set->info;
  info.name = setting.name;
  info.train_samples = train->samples();
  info.test_samples = tests;
  info.channels = static_cast<int>(options.integer("channels"));
  info.height = info.width =
      setting.image_size > 0 ? setting.image_size : static_cast<int>(options.integer("side"));
  info.classes = static_cast<int>(options.integer("classes"));
  return set;
}

}  // namespace tandem
