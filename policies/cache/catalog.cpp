// The table of cache policies. A new one is a source file and an entry here.
#include "policies/cache/policies.hpp"

namespace tandem::cache {

const Catalog<Factory>& catalog() {
  static const Catalog<Factory> table(
      "cache policy",
      {{"lru",
        "evicts the least recently used sample",
        "Mattson, Gecsei, Slutz, Traiger: Evaluation Techniques for Storage Hierarchies. "
        "IBM Systems Journal 9(2), 1970",
        {},
        make_lru},
       {"minio",
        "keeps what comes first and never evicts: no thrashing when the data set exceeds the cache",
        "Mohan, Phanishayee, Raniwala, Chidambaram: Analyzing and Mitigating Data Stalls in DNN Training. "
        "PVLDB 14(5), 2021",
        {},
        make_minio}});
  return table;
}

}  // namespace tandem::cache
