// Compares every schedule of the catalogue, and two of them in buckets, with MPI_Allreduce, in alternation
// within one run; prints medians, their ratio, and the best schedule. Started without mpirun, the program
// runs itself under mpirun with 2, 4 and 8 ranks and the flags that jobs use, or on the machines of
// --hosts=a,b. --sizes=1,4 chooses sizes in MiB, --only=ring,native candidates.
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policies/collectives/schedule.hpp"
#include "policies/vocabulary/check.hpp"
#include "runtime/mpi/mpi_context.hpp"
#include "tests/benchmarks/median.hpp"
#include "tests/benchmarks/rank_benchmark.hpp"
#include "workloads/exchange/schedule_runner.hpp"

namespace tandem {
namespace {

constexpr double seconds_a_size = 8.0;  ///< for all turns of one size, if a minimum of turns allows
constexpr int fewest_turns = 7;
constexpr int most_turns = 1000;
constexpr int first_turns = 3;
constexpr double hopeless = 2.0;  ///< times MPI_Allreduce's time; slower ones have no further turns

/// Seconds until the last rank has finished.
double timed(const std::function<void()>& reduce) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  reduce();
  double seconds = MPI_Wtime() - start;
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

struct Candidate {
  std::string name;
  std::function<void()> reduce;
  std::vector<double> seconds = {};
  bool is_hopeless = false;
};

/// One vector that all candidates sum in place. All ranks make the same decisions, because they share the
/// same measured times.
class Comparison {
 public:
  /// `only`: names of candidates; empty: all.
  Comparison(MpiContext& context, std::int64_t bytes, const std::vector<std::string>& only)
      : context_(context), bytes_(bytes), vector_(static_cast<std::size_t>(bytes) / sizeof(float)) {
    members_.resize(static_cast<std::size_t>(context.world_size()));
    std::iota(members_.begin(), members_.end(), 0);
    candidates_.push_back({"MPI_Allreduce", [this] {
                             MPI_Allreduce(MPI_IN_PLACE, vector_.data(), static_cast<int>(vector_.size()),
                                           MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
                           }});
    for (const auto& entry : collectives::catalog().entries()) add(entry.name, entry.make, bytes);
    for (const char* name : {"ring", "halving-doubling"})
      add(std::string(name) + "/1MiB", collectives::catalog().find(name).make, std::int64_t{1} << 20);
    add("native", nullptr, bytes);
    if (only.empty()) return;
    std::erase_if(candidates_, [&](const Candidate& candidate) {
      return candidate.name != candidates_.front().name &&
             std::ranges::find(only, candidate.name) == only.end();
    });
  }

  /// Runs the candidates in turn; the starting candidate rotates. Errors: WorldError for a wrong sum.
  void measure() {
    for (const Candidate& candidate : candidates_) check(candidate);
    // Zeros: repeated sums do not overflow.
    std::fill(vector_.begin(), vector_.end(), 0.0F);
    for (int turn = 0; turn < first_turns; ++turn)
      for (Candidate& candidate : candidates_) candidate.seconds.push_back(timed(candidate.reduce));
    // Other load on the machine hardly affects the least of them.
    const double plain_s = std::ranges::min(candidates_.front().seconds);
    double turn_s = 0.0;
    for (Candidate& candidate : candidates_) {
      const double least_s = std::ranges::min(candidate.seconds);
      candidate.is_hopeless = least_s > hopeless * plain_s;
      if (!candidate.is_hopeless) turn_s += least_s;
    }
    const int turns = std::clamp(static_cast<int>(seconds_a_size / turn_s), fewest_turns, most_turns);
    for (int turn = 0; turn < turns; ++turn)
      for (std::size_t i = 0; i < candidates_.size(); ++i) {
        Candidate& candidate = candidates_[(i + static_cast<std::size_t>(turn)) % candidates_.size()];
        if (!candidate.is_hopeless) candidate.seconds.push_back(timed(candidate.reduce));
      }
  }

  std::string heading() const {
    std::string line = fmt::format("{:>8} {:>5} {:>16}", "size", "turns", "MPI_Allreduce");
    for (std::size_t i = 1; i < candidates_.size(); ++i) line += "  " + candidates_[i].name;
    return line + "  best";
  }

  /// The median time of MPI_Allreduce, and that of each other candidate relative to it.
  std::string line() const {
    const double plain = median(candidates_.front().seconds);
    std::string text = fmt::format("{:>4} MiB {:>5} {:>13.0f} us", bytes_ >> 20,
                                   candidates_.front().seconds.size(), plain * 1e6);
    std::string best;
    double least = 0.0;
    for (std::size_t i = 1; i < candidates_.size(); ++i) {
      const double ratio = median(candidates_[i].seconds) / plain;
      text += fmt::format("  {:>{}.2f}", ratio, candidates_[i].name.size());
      const bool is_ours = candidates_[i].name != "native";
      if (is_ours && (best.empty() || ratio < least)) {
        best = candidates_[i].name;
        least = ratio;
      }
    }
    return text + fmt::format("  {} {:.3f}", best, least);
  }

 private:
  /// Splits the vector into buckets, all in flight at once as in a job. Without `make`: the context's native
  /// MPI all-reduce.
  void add(const std::string& name, collectives::MakeSchedule make, std::int64_t bucket_bytes) {
    const std::vector<Bytes> buckets(static_cast<std::size_t>(bytes_ / bucket_bytes), Bytes(bucket_bytes));
    const std::int64_t elements = bucket_bytes / static_cast<std::int64_t>(sizeof(float));
    AllReduces::Schedules schedules(buckets.size());
    for (auto& schedule : schedules)
      if (make != nullptr) schedule = make(context_.rank(), context_.world_size(), elements);
    reduces_.push_back(std::make_unique<AllReduces>(context_, std::move(schedules), members_, buckets,
                                                    Channel{.bucket = next_bucket_}));
    next_bucket_ += static_cast<std::int32_t>(buckets.size());
    candidates_.push_back({name, [this, &reduce = *reduces_.back(), buckets] {
                             auto* at = reinterpret_cast<std::byte*>(vector_.data());
                             for (std::size_t bucket = 0; bucket < buckets.size(); ++bucket) {
                               reduce.start(static_cast<int>(bucket), {buckets[bucket], at});
                               at += buckets[bucket].count();
                             }
                             reduce.finish();
                           }});
  }

  void check(const Candidate& candidate) {
    std::fill(vector_.begin(), vector_.end(), static_cast<float>(context_.rank() + 1));
    candidate.reduce();
    const int size = context_.world_size();
    const auto sum = static_cast<float>(size * (size + 1) / 2);
    if (std::any_of(vector_.begin(), vector_.end(), [sum](float element) { return element != sum; }))
      throw WorldError(candidate.name + ": a wrong sum");
  }

  MpiContext& context_;
  std::int64_t bytes_;
  std::vector<float> vector_;
  std::vector<Rank> members_;
  std::vector<std::unique_ptr<AllReduces>> reduces_;
  std::vector<Candidate> candidates_;
  std::int32_t next_bucket_ = 0;
};

struct Choice {
  std::vector<std::string> sizes = {};  ///< in MiB
  std::vector<std::string> only = {};   ///< names of candidates; empty: all
};

void run_rank(const Choice& choice) {
  const auto memory = std::make_shared<NodeMemory>(MPI_COMM_WORLD);
  MpiContext context(MPI_COMM_WORLD,
                     {.node_memory = memory, .node_routes = probe_node_routes(MPI_COMM_WORLD, *memory)});
  const auto print = [&](const std::string& line) {
    if (context.rank() != 0) return;
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
  };
  print(fmt::format("\n{} ranks; ratios to MPI_Allreduce, below 1 is faster", context.world_size()));
  bool has_heading = false;
  for (const auto& mebibytes : choice.sizes) {
    Comparison comparison(context, std::int64_t{std::stoi(mebibytes)} << 20, choice.only);
    if (!std::exchange(has_heading, true)) print(comparison.heading());
    comparison.measure();
    print(comparison.line());
  }
}

std::vector<int> numbers_of_ranks() { return {2, 4, 8}; }

}  // namespace
}  // namespace tandem

int main(int argc, char** argv) {
  tandem::Choice choice{.sizes = tandem::list_of(argc, argv, "--sizes="),
                        .only = tandem::list_of(argc, argv, "--only=")};
  if (choice.sizes.empty()) choice.sizes = {"1", "4", "16", "64"};
  return tandem::rank_benchmark(argc, argv, tandem::numbers_of_ranks, [&] { tandem::run_rank(choice); });
}
