// The table of all-reduce schedules. A new one is a source file and an entry here.
#include "policies/collectives/shapes.hpp"

namespace tandem::collectives {

const Catalog<MakeSchedule>& catalog() {
  static const Catalog<MakeSchedule> table(
      "collective",
      {{"ring",
        "reduce-scatter and all-gather around a ring: least traffic, 2 (p - 1) rounds",
        "Patarasuk, Yuan: Bandwidth Optimal All-reduce Algorithms for Clusters of Workstations. "
        "J. Parallel Distrib. Comput. 69(2), 2009",
        {},
        ring},
       {"halving-doubling",
        "recursive halving, then recursive doubling: least traffic, 2 lg p rounds",
        "Rabenseifner: Optimization of Collective Reduction Operations. ICCS 2004",
        {},
        halving_doubling},
       {"binary-blocks",
        "halving and doubling in blocks of powers of two: least traffic for any number of ranks",
        "Rabenseifner, Träff: More Efficient Reduction Algorithms for Non-Power-of-Two Number of "
        "Processors in Message-Passing Parallel Systems. EuroPVM/MPI 2004",
        {},
        binary_blocks},
       {"recursive-doubling",
        "whole vectors exchanged in lg p rounds: for small vectors, most traffic",
        "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH. "
        "Int. J. High Perform. Comput. Appl. 19(1), 2005",
        {},
        recursive_doubling},
       {"tree",
        "binomial reduction to one rank, then binomial broadcast: the baseline, 2 lg p rounds",
        "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH. "
        "Int. J. High Perform. Comput. Appl. 19(1), 2005",
        {},
        tree},
       {"double-tree",
        "two binary trees for half of the vector each, in chunks: least traffic, few latencies",
        "Sanders, Speck, Träff: Two-Tree Algorithms for Full Bandwidth Broadcast, Reduction and Scan. "
        "Parallel Computing 35(12), 2009",
        {},
        {double_tree, double_trees}},
       {"hierarchical",
        "rings inside hosts or racks, then across them: least traffic where groups are equal, few rounds",
        "Mikami et al.: Massively Distributed SGD: ImageNet/ResNet-50 Training in a Flash. "
        "arXiv:1811.05233, 2018",
        {},
        hierarchical}});
  return table;
}

bool takes_groups(const MakeSchedule& make) { return make == MakeSchedule(hierarchical); }

}  // namespace tandem::collectives
