#include "workloads/data/dataset.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/data/dataset_files.hpp"
#include "workloads/data/modelled_sizes.hpp"
#include "workloads/data/sample_set.hpp"
#include "workloads/data/synthetic.hpp"

namespace tandem {
namespace {

/// One row of the catalogue: `info` without the values of a setting, and its source.
struct Source {
  enum class Format { synthetic, idx, cifar, svhn, sample_set };
  CatalogEntry<int> entry;  ///< except for its index in the table
  DatasetInfo info;         ///< sample counts: of the published files, or the defaults of synthetic data
  Format format = Format::synthetic;
  std::string directory = "";           ///< of its files
  std::string origin = "";              ///< how to obtain the files
  std::vector<std::string> train = {};  ///< names of files; of IDX the labels, then the images
  std::vector<std::string> test = {};
  std::vector<int> label_limits = {};  ///< of CIFAR's labels
};

DatasetInfo grey(float mean, float deviation) {
  return {.name = "",
          .train_samples = 60'000,
          .test_samples = 10'000,
          .channels = 1,
          .height = 28,
          .width = 28,
          .classes = 10,
          .mean = mean,
          .deviation = deviation};
}
DatasetInfo colour(int classes, float mean, float deviation) {
  return {.name = "",
          .train_samples = 50'000,
          .test_samples = 10'000,
          .channels = 3,
          .height = 32,
          .width = 32,
          .classes = classes,
          .mean = mean,
          .deviation = deviation};
}

Source synthetic(const std::string& name, const std::string& summary, DatasetInfo info) {
  info.train_samples = 10'000;
  info.test_samples = 2'000;
  return {.entry = {name, summary, "", {}, 0}, .info = info};
}

/// ImageNet-1k in numbers of images and classes and, by 6 bits per pixel, in bytes per stored sample: 112,898
/// against 115,440 of its JPEG files (ILSVRC2012_img_train.tar has 147,897,477,120 bytes). Source of the
/// numbers of images: Russakovsky et al., ImageNet Large Scale Visual Recognition Challenge, IJCV 2015.
Source synthetic_imagenet() {
  return {
      .entry = {"synthetic-imagenet",
                "synthetic photographs, 224x224, with the sizes of ImageNet-1k: 1,281,167 and 50,000 colour "
                "images, 1,000 classes, 113 kB per stored image; generated from the seed",
                "",
                {},
                0},
      .info = {.name = "",
               .train_samples = 1'281'167,
               .test_samples = 50'000,
               .channels = 3,
               .height = 224,
               .width = 224,
               .classes = 1000,
               .mean = 0.3F,
               .deviation = 0.2F,
               .pixel_bits = 6}};
}

/// MNIST, or a data set with the same files.
Source idx(const std::string& name, const std::string& summary, const std::string& paper,
           const DatasetInfo& info, const std::string& origin) {
  return {.entry = {name, summary, paper, {}, 0},
          .info = info,
          .format = Source::Format::idx,
          .directory = "/usr/share/datasets/" + name,
          .origin = origin,
          .train = {"train-labels-idx1-ubyte", "train-images-idx3-ubyte"},
          .test = {"t10k-labels-idx1-ubyte", "t10k-images-idx3-ubyte"}};
}

Source cifar(const std::string& name, const std::string& summary, const DatasetInfo& info,
             std::vector<std::string> train, std::vector<std::string> test, std::vector<int> label_limits) {
  return {.entry = {name, summary, "Krizhevsky (2009)", {}, 0},
          .info = info,
          .format = Source::Format::cifar,
          .directory = "/usr/share/datasets/" + name,
          .origin = "its authors' archive " + name + "-binary.tar.gz contains it",
          .train = std::move(train),
          .test = std::move(test),
          .label_limits = std::move(label_limits)};
}

Source svhn() {
  DatasetInfo info = colour(10, 0.4514F, 0.1993F);
  info.train_samples = 73'257;
  info.test_samples = 26'032;
  return {.entry = {"svhn",
                    "73,257 and 26,032 colour images of house numbers, 32x32, 10 digits (MATLAB files)",
                    "Netzer, Wang, Coates, Bissacco, Wu and Ng (2011)",
                    {},
                    0},
          .info = info,
          .format = Source::Format::svhn,
          .directory = "/usr/share/datasets/svhn",
          .origin = "it is one of the two files of cropped digits of its authors",
          .train = {"train_32x32.mat"},
          .test = {"test_32x32.mat"}};
}

/// One whose samples are stored one by one.
Source sample_set(const std::string& name, const std::string& summary, std::vector<OptionSpec> options) {
  return {
      .entry = {name, summary, "", std::move(options), 0}, .info = {}, .format = Source::Format::sample_set};
}

std::vector<OptionSpec> normalisation_options() {
  // Defaults are those of ImageNet, over all channels.
  return {{"mean", "of pixels scaled to [0, 1], over all channels, for normalisation", 0.449, 0.0, 1.0},
          {"deviation", "standard deviation of the same", 0.226, 1e-6, 1.0}};
}

/// In the order of the catalogue.
std::vector<Source> make_sources() {
  return {
      idx("fashion-mnist", "60,000 and 10,000 greyscale images of clothes, 28x28, 10 classes (IDX files)",
          "Xiao, Rasul and Vollgraf (2017)", grey(0.2860F, 0.3530F),
          "apt-get install dataset-fashion-mnist installs it"),
      idx("mnist", "60,000 and 10,000 greyscale images of digits, 28x28, 10 classes (IDX files)",
          "LeCun, Bottou, Bengio and Haffner (1998)", grey(0.1307F, 0.3081F),
          "it is one of the four files of its authors"),
      cifar("cifar-10", "50,000 and 10,000 colour images, 32x32, 10 classes (binary version)",
            colour(10, 0.4734F, 0.2516F),
            {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
             "data_batch_5.bin"},
            {"test_batch.bin"}, {10}),
      cifar("cifar-100",
            "50,000 and 10,000 colour images, 32x32, 100 classes, the fine labels (binary version)",
            colour(100, 0.4782F, 0.2682F), {"train.bin"}, {"test.bin"}, {20, 100}),
      svhn(),
      synthetic("synthetic",
                "any number of synthetic greyscale images, 28x28, 10 classes; generated from the seed",
                grey(0.3F, 0.2F)),
      synthetic("synthetic-colour",
                "any number of synthetic colour images, 32x32, 10 classes; generated from the seed",
                colour(10, 0.3F, 0.2F)),
      synthetic_imagenet(),
      sample_set("folder",
                 "JPEG and PNG images below workload.dataset_directory: train/CLASS/FILE and test/CLASS/FILE "
                 "(or val/...)",
                 normalisation_options()),
      sample_set("shards",
                 "images in tar files with an index, which `tandem data pack` writes, in "
                 "workload.dataset_directory",
                 {}),
      sample_set("sizes",
                 "samples that have sizes and classes, but no content; as many as ImageNet-1k, unless "
                 "workload.train_samples says otherwise (modelled mathematics only)",
                 modelled_sizes_options()),
  };
}

const std::vector<Source>& sources() {
  static const std::vector<Source> rows = [] {
    auto made = make_sources();
    for (auto& row : made) row.info.name = row.entry.name;
    return made;
  }();
  return rows;
}

/// Path of a file, which may be compressed if it is IDX.
std::string find_file(const Source& source, const std::string& directory, const std::string& name) {
  const bool may_be_compressed = source.format == Source::Format::idx;
  const auto plain = std::filesystem::path(directory) / name;
  const auto compressed = plain.string() + ".gz";
  std::error_code impossible;
  if (may_be_compressed && std::filesystem::exists(compressed, impossible)) return compressed;
  if (std::filesystem::exists(plain, impossible)) return plain.string();
  throw ConfigError("data set '" + source.info.name + "': expected '" + name + "'" +
                    (may_be_compressed ? " or '" + name + ".gz'" : "") + " in '" + directory +
                    "', found none; " + source.origin +
                    "; workload.dataset_directory names the folder to search");
}

std::string directory_of(const Source& source, const DatasetSetting& setting) {
  return setting.directory.empty() ? source.directory : setting.directory;
}

std::vector<std::string> paths_of(const Source& source, const DatasetSetting& setting, Dataset::Part which) {
  const std::string directory = directory_of(source, setting);
  std::vector<std::string> paths;
  for (const auto& name : which == Dataset::Part::train ? source.train : source.test)
    paths.push_back(find_file(source, directory, name));
  return paths;
}

/// Whether any of its files is there: if another one is not, that is an error.
bool are_there(const Source& source, const DatasetSetting& setting) {
  const std::filesystem::path directory = directory_of(source, setting);
  std::error_code impossible;
  for (const auto* names : {&source.train, &source.test})
    for (const auto& name : *names)
      for (const char* ending : {"", ".gz"})
        if (std::filesystem::exists(directory / (name + ending), impossible)) return true;
  return false;
}

/// A published data set, whose sizes are known without its files.
bool has_fixed_files(const Source& source) {
  return source.format != Source::Format::synthetic && source.format != Source::Format::sample_set;
}

std::unique_ptr<PartFiles> open_files(const Source& source, const std::vector<std::string>& paths) {
  if (source.format == Source::Format::idx) return open_idx_part(source.info, paths[0], paths[1]);
  if (source.format == Source::Format::svhn) return open_svhn_part(source.info, paths[0]);
  return open_cifar_part(source.info, source.label_limits, paths);
}

/// Open files, with the number of samples to use.
struct Part {
  std::unique_ptr<PartFiles> files;
  std::int64_t samples;
};

Part open_part(const Source& source, const DatasetSetting& setting, Dataset::Part which) {
  const bool training = which == Dataset::Part::train;
  const std::vector<std::string> paths = paths_of(source, setting, which);
  auto files = open_files(source, paths);
  const std::int64_t wanted = training ? setting.train_samples : setting.test_samples;
  if (wanted > files->samples())
    throw ConfigError("data set '" + source.info.name + "': expected at least the " + std::to_string(wanted) +
                      " requested samples, found " + std::to_string(files->samples()) + " in '" +
                      paths.back() + "'" + (paths.size() > 1 ? " and the files with it" : ""));
  const std::int64_t samples = wanted > 0 ? wanted : files->samples();
  return {std::move(files), samples};
}

const Source& source_of(const DatasetSetting& setting) {
  const auto& source = sources()[static_cast<std::size_t>(dataset_catalog().find(setting.name).make)];
  if (setting.train_samples < 0 || setting.test_samples < 0)
    throw ConfigError("data set '" + setting.name + "': expected zero or more samples, found " +
                      std::to_string(setting.train_samples) + " for training and " +
                      std::to_string(setting.test_samples) + " for testing");
  return source;
}

DatasetInfo describe_synthetic(const Source& source, const DatasetSetting& setting) {
  DatasetInfo info = source.info;
  if (setting.train_samples > 0) info.train_samples = setting.train_samples;
  if (setting.test_samples > 0) info.test_samples = setting.test_samples;
  return info;
}

/// `remedy`: how fewer are in memory.
void check_size_in_memory(const DatasetInfo& info, const std::string& remedy) {
  const Bytes size = info.record_bytes() * (info.train_samples + info.test_samples);
  if (size > largest_in_memory)
    throw ConfigError("data set '" + info.name + "': expected at most " +
                      std::to_string(largest_in_memory.count() >> 30) + " GiB, found " +
                      std::to_string(size.count() >> 30) + " GiB in " + std::to_string(info.train_samples) +
                      " training and " + std::to_string(info.test_samples) +
                      " test images, which real mathematics keeps in memory; use fewer with " + remedy);
}

constexpr const char* fewer_samples = "workload.train_samples and workload.test_samples";

/// Pre: the set is that of the setting.
std::shared_ptr<const Dataset> load_sample_set(const SampleSet& set, const DatasetSetting& setting) {
  if (set.train.source == nullptr)
    throw ConfigError("data set '" + setting.name +
                      "': expected workload.math: modelled, because its samples have sizes, but no content");
  DatasetInfo loaded = set.info;
  if (!setting.loads_training) loaded.train_samples = 0;
  check_size_in_memory(loaded, std::string(fewer_samples) + ", or data.source: storage");
  std::vector<std::byte> train;
  if (setting.loads_training) train = decode_part(set, Dataset::Part::train);
  return std::make_shared<Dataset>(set.info, std::move(train), decode_part(set, Dataset::Part::test));
}

}  // namespace

Dataset::Dataset(DatasetInfo info, std::vector<std::byte> train, std::vector<std::byte> test)
    : Dataset(std::move(info), std::make_shared<const Records>(std::move(train), std::move(test))) {}

Dataset::Dataset(DatasetInfo info, const std::shared_ptr<const Records>& records)
    : Dataset(std::move(info), records->first, records->second, records) {}

Dataset::Dataset(DatasetInfo info, std::span<const std::byte> train, std::span<const std::byte> test,
                 std::shared_ptr<const void> memory)
    : info_(std::move(info)), memory_(std::move(memory)), train_(train), test_(test) {
  const auto record = static_cast<std::size_t>(info_.record_bytes().count());
  TANDEM_CHECK(train_.empty() || train_.size() == static_cast<std::size_t>(info_.train_samples) * record,
               train_.size(), record);
  TANDEM_CHECK(test_.size() == static_cast<std::size_t>(info_.test_samples) * record, test_.size(), record);
}

std::span<const std::byte> Dataset::record(Part part, SampleId id) const {
  const std::int64_t samples = part == Part::train ? info_.train_samples : info_.test_samples;
  TANDEM_CHECK(id >= 0 && id < samples && !records(part).empty(), "id", id, "samples", samples);
  const auto bytes = static_cast<std::size_t>(info_.record_bytes().count());
  return records(part).subspan(static_cast<std::size_t>(id) * bytes, bytes);
}

std::span<const std::byte> Dataset::records(Part part) const { return part == Part::train ? train_ : test_; }

std::vector<std::uint16_t> Dataset::train_labels() const {
  std::vector<std::uint16_t> labels;
  labels.reserve(static_cast<std::size_t>(info_.train_samples));
  for (SampleId id = 0; id < info_.train_samples; ++id)
    labels.push_back(static_cast<std::uint16_t>(info_.label_of(record(Part::train, id))));
  return labels;
}

const Catalog<int>& dataset_catalog() {
  // `make` indexes `sources`.
  static const Catalog<int> catalog("data set", [] {
    std::vector<CatalogEntry<int>> entries;
    for (const auto& source : sources()) {
      entries.push_back(source.entry);
      entries.back().make = static_cast<int>(entries.size()) - 1;
    }
    return entries;
  }());
  return catalog;
}

DatasetInfo describe_dataset(const DatasetSetting& setting) {
  const Source& source = source_of(setting);
  if (source.format == Source::Format::synthetic) return describe_synthetic(source, setting);
  if (source.format == Source::Format::sample_set) return open_sample_set(setting)->info;
  DatasetInfo info = source.info;
  info.train_samples = open_part(source, setting, Dataset::Part::train).samples;
  info.test_samples = open_part(source, setting, Dataset::Part::test).samples;
  return info;
}

DatasetInfo describe_modelled_dataset(const DatasetSetting& setting) {
  const Source& source = source_of(setting);
  if (!has_fixed_files(source) || are_there(source, setting)) return describe_dataset(setting);
  DatasetInfo info = source.info;
  const auto use = [&](std::int64_t wanted, std::int64_t& samples) {
    if (wanted > samples)
      throw ConfigError(fmt::format("data set '{}': expected at most its {} samples, found {} requested",
                                    info.name, samples, wanted));
    if (wanted > 0) samples = wanted;
  };
  use(setting.train_samples, info.train_samples);
  use(setting.test_samples, info.test_samples);
  return info;
}

std::vector<std::string> dataset_files(const DatasetSetting& setting) {
  const Source& source = source_of(setting);
  std::vector<std::string> paths;
  // There may be millions of them. Ranks compare their manifests.
  if (source.format == Source::Format::sample_set) return paths;
  for (const auto part : {Dataset::Part::train, Dataset::Part::test})
    for (auto& path : paths_of(source, setting, part)) paths.push_back(std::move(path));
  return paths;
}

std::shared_ptr<const Dataset> load_dataset(const DatasetSetting& setting, const SampleSet* set) {
  const Source& source = source_of(setting);
  if (source.format == Source::Format::sample_set)
    return load_sample_set(set != nullptr ? *set : *open_sample_set(setting), setting);
  const DatasetInfo info = describe_dataset(setting);
  if (source.format == Source::Format::synthetic) check_size_in_memory(info, fewer_samples);
  const auto records = [&](Dataset::Part which) {
    if (source.format == Source::Format::synthetic)
      return make_synthetic(
          info, which, which == Dataset::Part::train ? info.train_samples : info.test_samples, setting.seed);
    const Part part = open_part(source, setting, which);
    return part.files->read(part.samples);
  };
  return std::make_shared<Dataset>(info, records(Dataset::Part::train), records(Dataset::Part::test));
}

std::vector<std::uint16_t> load_train_labels(const DatasetSetting& setting) {
  if (const auto set = open_sample_set(setting)) return set->train.manifest->labels;
  if (source_of(setting).format != Source::Format::synthetic) return load_dataset(setting)->train_labels();
  const DatasetInfo info = describe_dataset(setting);
  return synthetic_labels(info, Dataset::Part::train, info.train_samples, setting.seed);
}

std::vector<std::uint16_t> modelled_train_labels(const DatasetSetting& setting) {
  const Source& source = source_of(setting);
  if (!has_fixed_files(source) || are_there(source, setting)) return load_train_labels(setting);
  const DatasetInfo info = describe_modelled_dataset(setting);
  return synthetic_labels(info, Dataset::Part::train, info.train_samples, setting.seed);
}

}  // namespace tandem
