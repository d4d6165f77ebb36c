// Jobs with which an answer compares another one: the same but for what is assumed of it. Each is simulated
// in a process of its own, because SimGrid allows one simulation per process.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "workloads/experiment/experiment.hpp"

namespace tandem::cli {

/// The worst slow-down of kernels during NCCL's sums in public measurements (NVIDIA/nccl#1428).
inline constexpr double worst_slowdown = 1.8;
/// The share of a link's rate that is left if protocols and other traffic take the rest. Assumed.
inline constexpr double low_link_share = 0.8;
/// The variant of an imported job whose GPU never waits for its processor.
inline constexpr const char* gpu_alone_variant = "gpu-alone";

// Each of these is none where the comparison says nothing. `physics`: of the results of the job.

/// One device, which exchanges nothing. `platform`: a file with one such device. Over servers, also one
/// worker exchanges.
std::optional<Experiment> one_device_alone(const Experiment& job, const std::string& platform);
/// Kernels take `worst_slowdown` times as long while messages move. None: the simulation has a slow-down, or
/// nothing overlaps.
std::optional<Experiment> with_slower_kernels(const Experiment& job, const nlohmann::json& physics);
/// All sums go by NCCL's ring. None: they do so anyway, or are calibrated.
std::optional<Experiment> with_rings(const Experiment& job, const nlohmann::json& physics);
/// `platform`: a file with slower links. None: sums are calibrated.
std::optional<Experiment> with_slower_links(const Experiment& job, const nlohmann::json& physics,
                                            const std::string& platform);
/// No buffers before the forward pass. None: there are none.
std::optional<Experiment> without_buffers(const Experiment& job);
/// The job with a GPU that never waits for its processor; none: the job is not launch-bound.
std::optional<Experiment> with_gpu_alone(const Experiment& job);

/// How the library's all-reduces were timed; empty: there were none.
std::string sums_of(const nlohmann::json& physics);
/// By a profile, measured or fitted.
bool are_calibrated(const nlohmann::json& physics);
/// The step is one in closed form.
bool is_priced(const nlohmann::json& physics);

/// Seconds of a step of each, simulated side by side. Of jobs whose steps are all alike, the first ones after
/// the warm-up are simulated.
std::vector<double> simulated_steps(std::vector<Experiment> jobs);

}  // namespace tandem::cli
