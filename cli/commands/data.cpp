// `tandem data`: data sets in the form in which training reads them best.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/commands/commands.hpp"
#include "cli/shared/output.hpp"
#include "cli/shared/progress.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantity_text.hpp"
#include "workloads/data/pack_shards.hpp"

namespace tandem::cli {
namespace {

struct PackOptions {
  std::string source;  ///< a folder, or a name of dataset_catalog()
  std::string out;
  std::string directory;  ///< of the files of a known data set
  std::string shard_size = "64MB";
  std::int64_t train_samples = 0;
  std::int64_t test_samples = 0;
  std::uint64_t seed = 1;
};

bool is_known(const std::string& name) {
  for (const auto& entry : dataset_catalog().entries())
    if (entry.name == name) return true;
  return false;
}

Bytes shard_size_of(const std::string& text) {
  constexpr std::int64_t least = 1'000'000;
  const auto size = parse_bytes(text);
  if (!size || size->count() < least)
    throw ConfigError("data pack: --shard-size: expected a size of at least 1MB, like 64MB, found '" + text +
                      "'");
  return *size;
}

DatasetSetting setting_of(const PackOptions& options) {
  DatasetSetting setting{.name = options.source,
                         .directory = options.directory,
                         .train_samples = options.train_samples,
                         .test_samples = options.test_samples,
                         .seed = options.seed};
  if (!is_known(options.source)) {
    std::error_code impossible;
    if (!std::filesystem::is_directory(options.source, impossible))
      throw ConfigError(
          fmt::format("data pack: expected a folder, or a data set of `tandem list dataset`, found '{}'",
                      options.source));
    setting.name = "folder";
    setting.directory = options.source;
    // Images of any size are packed as they are; this is only the size to which each is decoded as a check.
    setting.image_size = 64;
  }
  return setting;
}

PackResult pack_into(const PackOptions& options) {
  const DatasetSetting setting = setting_of(options);
  ProgressBar bar("packing " + options.source);
  const PackSetting target{.out = options.out,
                           .shard_size = shard_size_of(options.shard_size),
                           .progress = [&bar](double share) { bar.update(share); }};
  if (const auto set = open_sample_set(setting)) {
    if (set->train.source == nullptr || setting.name == "shards")
      throw ConfigError(fmt::format(
          "data pack: expected a folder of images or a data set of records, found '{}'", setting.name));
    return pack(*set, target);
  }
  const auto dataset = load_dataset(setting);
  if (dataset->info().pixel_bits != 8)
    throw ConfigError(fmt::format("data pack: expected a data set with pixels of 8 bits, found '{}' with {}",
                                  setting.name, dataset->info().pixel_bits));
  return pack(*dataset, target);
}

void run_pack(const PackOptions& options) {
  const PackResult result = pack_into(options);
  fmt::print("packed {} samples into {} tar files of {} in {}\n", result.samples, result.shards,
             to_text(result.size), options.out);
  fmt::print("train on them with workload.dataset: shards, workload.dataset_directory: {}\n", options.out);
  print_document({{"out", options.out},
                  {"samples", result.samples},
                  {"shards", result.shards},
                  {"bytes", result.size.count()}});
}

void add_pack(CLI::App& parent) {
  auto* command = parent.add_subcommand(
      "pack", "Write a data set as tar files with an index, which are read faster than single files");
  const auto options = std::make_shared<PackOptions>();
  command
      ->add_option("SOURCE", options->source,
                   "Folder with train/CLASS/FILE and test/CLASS/FILE (or val/...), or a data set (tandem "
                   "list dataset)")
      ->required();
  command->add_option("OUT", options->out, "Folder to write, which must not exist yet")->required();
  command->add_option("--shard-size", options->shard_size, "Most bytes of a tar file [64MB]")
      ->type_name("SIZE");
  command
      ->add_option("--directory", options->directory,
                   "Folder with the files of a data set [/usr/share/datasets/NAME]")
      ->type_name("DIR");
  command
      ->add_option("--train-samples", options->train_samples,
                   "Number of training samples, the first ones; 0: all [0]")
      ->check(CLI::NonNegativeNumber);
  command
      ->add_option("--test-samples", options->test_samples,
                   "Number of test samples, the first ones; 0: all [0]")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--seed", options->seed, "Of synthetic data [1]");
  command->footer(
      "Images of a folder are packed as they are, after each was decoded once as a check; those of other "
      "data\n"
      "sets become PNG, with the same pixels. The folder appears when it is complete. Examples:\n"
      "  tandem data pack photographs photographs.shards\n"
      "  tandem data pack fashion-mnist fashion.shards --shard-size 8MB\n"
      "  tandem simulate workloads/experiments/quick.yaml --variant bsp --set workload.dataset=shards "
      "--set workload.dataset_directory=fashion.shards");
  command->callback([options] { run_pack(*options); });
}

}  // namespace

void add_data(CLI::App& app, int&) {
  auto* command = app.add_subcommand("data", "Prepare data sets");
  command->require_subcommand(1);
  add_pack(*command);
  command->footer(
      "Example:\n"
      "  tandem data pack fashion-mnist fashion.shards");
}

}  // namespace tandem::cli
