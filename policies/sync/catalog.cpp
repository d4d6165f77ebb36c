// The list of synchronisation algorithms, in the order in which `tandem list sync` prints them.
#include "policies/sync/asynchronous/algorithms.hpp"
#include "policies/sync/decentralised/algorithms.hpp"
#include "policies/sync/local_steps/algorithms.hpp"
#include "policies/sync/policy.hpp"
#include "policies/sync/rounds/algorithms.hpp"

namespace tandem::sync {

const Catalog<Factory>& catalog() {
  static const Catalog<Factory> table("sync algorithm", {
                                                            sequential(),
                                                            bsp(),
                                                            k_sync(),
                                                            k_batch_sync(),
                                                            lb_bsp(),
                                                            local_sgd(),
                                                            post_local_sgd(),
                                                            adacomm(),
                                                            esync(),
                                                            esync_published(),
                                                            fedavg(),
                                                            slowmo(),
                                                            diloco(),
                                                            easgd(),
                                                            asp(),
                                                            ssp(),
                                                            ssp_cached(),
                                                            dssp(),
                                                            dynsgd(),
                                                            rennala(),
                                                            ringmaster(),
                                                            sync_switch(),
                                                            adsp(),
                                                            easgd_async(),
                                                            dc_asgd(),
                                                            dc_asgd_adaptive(),
                                                            dc_asgd_mxnet(),
                                                            d_psgd(),
                                                            ad_psgd(),
                                                            group_average(),
                                                        });
  return table;
}

}  // namespace tandem::sync
