// The ranks and GPUs that the hosts of a job need on real machines.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "platforms/description.hpp"
#include "runtime/machines/deal.hpp"
#include "workloads/experiment/experiment.hpp"

namespace tandem::cli {

/// The hosts that have ranks, in the order of their first ranks, without groups and machines. Each rank
/// needs a place. A host with a GPU needs a GPU where devices are native and mathematics is real. `least`:
/// number of ranks; if the job has fewer, the host of its last rank has the others. Pre: the placement of
/// the experiment is resolved.
std::vector<machines::HostNeed> host_needs(const Experiment& experiment,
                                           const platforms::Description& platform, int least = 0);

/// Gives hosts the machines and GPUs of --map.
void apply_mapping(std::vector<machines::HostNeed>& needs, const std::vector<machines::Mapped>& hosts);

/// Adds the groups of hosts in the network of the platform file, from racks to halves of it. Errors: as
/// load_network.
void add_groups(std::vector<machines::HostNeed>& needs, const std::string& platform_file);

/// The property tandem:address of each host that has it.
std::map<std::string, std::string> addresses_of(const platforms::Description& platform);

/// Prints the note "mapping: --map 'gpu-[0-7]=a:[0-7]' --map server=b", whose options give the same mapping.
/// Not on standard output, which --print-command uses. Nothing without hosts.
void print_mapping(const std::vector<machines::Mapped>& hosts);

}  // namespace tandem::cli
