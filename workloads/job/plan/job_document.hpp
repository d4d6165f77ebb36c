// A job as JSON: the document that `tandem run` gives to tandem-rank.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "workloads/job/plan/job.hpp"

namespace tandem {

/// All that was resolved for both worlds.
nlohmann::json job_document(const Job& job);
/// Inverse of job_document. `directory` and `data_memory`: as in JobSpec. Errors: ConfigError,
/// also for samples of another manifest than the document's; nlohmann::json::exception.
Job job_from_document(const nlohmann::json& document, std::string directory, std::string data_memory = {});
/// Writes the document that tandem-rank and --resume read. Errors: WorldError.
void write_document(const std::string& path, const Job& job);

}  // namespace tandem
