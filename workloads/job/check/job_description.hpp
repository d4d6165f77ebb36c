// The question of a job, and probable mistakes of its author, in words: printed before the job starts. Pure
// text from the job's parts.
#pragma once

#include <string>
#include <vector>

#include "workloads/job/plan/job.hpp"

namespace tandem {

/// Four lines: model, data set and sizes; work per sample, batch and workers; devices of the workers and
/// their rates; network.
std::vector<std::string> question_of(const Job& job);
/// The same, and a line about memory.
std::vector<std::string> describe_job(const Job& job);

/// Differences to other programs that users may not expect: one or two sentences each.
std::vector<std::string> notes_of(const Job& job);

/// By server shard; empty without servers.
std::vector<std::string> shard_hosts(const Job& job);

/// Probable mistakes in a job that can be simulated: a model made for larger images, disks that no rank
/// reads, a sampler that selects no samples, a device whose speed in the job's precision is not known, a
/// server with much more of the model than the others. One or two sentences each, which also say what to
/// change. Lack of memory is separate (memory_estimate.hpp), because a run refuses it.
std::vector<std::string> warnings_of(const Job& job);

}  // namespace tandem
