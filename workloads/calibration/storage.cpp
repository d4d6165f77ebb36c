// Times of reads and writes of several sizes, as a job does them.
#include <fstream>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantile.hpp"
#include "policies/vocabulary/rng.hpp"
#include "workloads/calibration/measurement.hpp"
#include "workloads/data/checked_read.hpp"

namespace tandem::calibration {

std::vector<Profile::StorageEntry> measure_storage(const Job& job, Context& context,
                                                   const CalibrationSetting& setting) {
  const auto source = job.data().open_source(job.spec().directory + "/calibration_records.bin");
  // The mean size.
  const cache::Manifest& manifest = job.data().manifest();
  const auto record_bytes = static_cast<std::size_t>((manifest.total() / manifest.samples).count());
  Rng random = Rng::stream(job.spec().experiment.seed, "storage calibration");
  std::vector<std::byte> record(record_bytes), read;
  const auto read_records = [&](int count) {
    const auto samples = static_cast<std::uint64_t>(job.data().info().train_samples);
    for (int i = 0; i < count; ++i) {
      const auto id = static_cast<SampleId>(random.below(samples));
      read.resize(static_cast<std::size_t>(source->size(id).count()));
      if (const auto wrong = read_checked(*source, id, read)) throw WorldError(*wrong);
    }
  };
  const auto write_records = [&](int count) {
    std::ofstream file(job.spec().directory + "/calibration_written.bin", std::ios::binary);
    for (int i = 0; i < count; ++i)
      file.write(reinterpret_cast<const char*>(record.data()), static_cast<std::streamsize>(record_bytes));
    if (!file.flush()) throw WorldError("cannot write into " + job.spec().directory);
  };
  const std::vector<int> counts = {1, 8, 64, 512};
  std::vector<std::vector<double>> raw(2 * counts.size());
  for (const std::size_t kind :
       shuffled_plan(std::vector<int>(raw.size(), setting.storage_repetitions), job.spec().experiment.seed)) {
    const int count = counts[kind / 2];
    const Bytes size(static_cast<std::int64_t>(record_bytes) * count);
    const Seconds start = context.now();
    Pending transfer = kind % 2 == 0 ? context.read(0, size, [&] { read_records(count); })
                                     : context.write(0, size, [&] { write_records(count); });
    context.wait(transfer);
    raw[kind].push_back((context.now() - start).count());
  }
  std::vector<Profile::StorageEntry> entries;
  for (std::size_t kind = 0; kind < raw.size(); ++kind)
    entries.push_back({static_cast<std::int64_t>(record_bytes) * counts[kind / 2], kind % 2 == 1,
                       quantile(raw[kind], 0.5), spread_of(raw[kind]), raw[kind]});
  return entries;
}

}  // namespace tandem::calibration
