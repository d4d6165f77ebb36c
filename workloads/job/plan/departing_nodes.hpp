// The cache nodes and stores whose machines depart while the job continues: if workers recover in place,
// those on hosts with a lifetime of their own. Workers read from the stores until a node is back. Reads from
// a store wait until it is back.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "workloads/job/plan/job.hpp"

namespace tandem {

/// Their indices, among the cache nodes, in ascending order.
std::vector<std::size_t> departing_cache_nodes(const Job& job);
bool may_cache_node_depart(const Job& job, std::size_t node);
/// The workers that such nodes serve, in ascending order: stores serve them, too.
std::vector<std::size_t> workers_of_departing_nodes(const Job& job);

/// Indices among the stores, in ascending order.
std::vector<std::size_t> departing_stores(const Job& job);
bool may_store_depart(const Job& job, std::size_t store);
/// The hosts of departing cache nodes, then of departing stores: one machine each.
std::vector<std::string> hosts_of_departing(const Job& job);

/// Pre: the job recovers in place. Errors: ConfigError when a cache node, store or directory is on a host
/// whose machine may depart, and that is not possible.
void check_storage_hosts(const Job& job);

}  // namespace tandem
