// A job as its next generation: the checkpoint from which it continues, its workers, and the known facts of
// the generations before.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "platforms/description_network.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/membership/generations/generation_result.hpp"

namespace tandem {

/// The network between the workers' hosts, for all-reduce settings that depend on it; otherwise empty.
/// Errors: ConfigError.
using NetworkOf =
    std::function<platforms::Network(const Experiment& experiment, const platforms::Description& platform)>;

/// The slots of the generation's workers; all, if it names none.
std::vector<int> present_slots(const Job& job, const Generation& generation);

/// Checks the number of workers. `members`: their slots; null: as before. Errors: WorldError if the job
/// cannot have so few.
void expect_workers(const Job& job, const std::vector<int>* members, const NetworkOf& network_of);

/// The first generation, with the workers in these slots alone. Writes the job's document into `out`.
void begin_with(Job& job, const std::string& out, const std::vector<int>& slots, const NetworkOf& network_of);

/// Makes the job its next generation, and writes its document into `out`. `reason`, `result`: why and how
/// the present generation has ended. `point`: none: from the beginning. `members`: the slots of its workers;
/// null: as before.
void begin_next(Job& job, const std::string& out, const std::string& reason,
                const std::optional<ResumePoint>& point, const GenerationResult& result,
                const std::vector<int>* members, const NetworkOf& network_of);

}  // namespace tandem
