// The results of a job in closed form: the files and figures of a simulation, without a record of each step.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "workloads/priced/job_life.hpp"
#include "workloads/priced/prediction.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::priced {

/// By slot. A slot of a spare does the work of the first worker.
std::vector<WorkOfRound> work_of_rounds(const Job& job, const Prediction& found);

/// How good the figures are, for run.json.
nlohmann::json describe_closed_form(const Prediction& found, const JobLife& lives);

/// As summarise(), but of more than 2,048 workers, none of which departed or came, with one row for each
/// class of equal ones. Times of steps are those with all workers. `info` has the generations of the life.
Summary summary_of(const Job& job, const RunInfo& info, const Prediction& found, const JobLife& lives,
                   const Life& life);

/// The complete result directory, with the lists of records empty but for the members.
void write_priced_results(const std::string& path, const RunInfo& info, const Summary& summary,
                          const Life& life);

}  // namespace tandem::priced
