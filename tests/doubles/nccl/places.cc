#include "nccl/places.h"

#include <string>

#include "nccl/log.h"
#include "nccl/version.h"

namespace safelaunch::testing {
namespace {

// From the transcripts in tests/data/nccl; places that do not occur there (nvls, out_of_memory,
// no_block, verbs, closed, config) are those of the message in that release.
constexpr Places kPlaces[] = {
    {
        .since = 21800,
        .no_interface = "bootstrap.cc:45",
        .no_interface_trail = "init.cc:82 init.cc:101",
        .root_mismatch = "bootstrap.cc:126",
        .root_duplicate = "bootstrap.cc:131",
        .refused = "misc/socket.cc:483",
        .refused_trail = "misc/socket.cc:564 misc/socket.cc:618 bootstrap.cc:270 init.cc:1350 "
                         "init.cc:1598 init.cc:1636",
        .closed = "misc/socket.cc:49",
        .no_network = "net.cc:285",
        .no_network_trail = "init.cc:309 init.cc:1349 init.cc:1598 init.cc:1636",
        .duplicate_gpu = "init.cc:795",
        .other_version = "init.cc:785",
        .init_trail = "init.cc:1358 init.cc:1598 init.cc:1636",
        .shm_extend = "misc/shmutils.cc:72",
        .shm_create = "misc/shmutils.cc:113",
        .shm_trail = "transport/shm.cc:114",
        .pool_trail = "@proxy.cc:1257 @proxy.cc:1320 proxy.cc:1068 transport/net.cc:229",
        .connect_trail = "transport.cc:33 transport.cc:113 init.cc:1089",
        .nvls = "transport/nvls.cc:210",
        .out_of_memory = "include/alloc.h:196",
        .no_block = "include/alloc.h:205",
        .verbs = "misc/ibvwrap.cc:34",
        .config = "init.cc:1500",
    },
    {
        .since = 22000,
        .no_interface = "bootstrap.cc:48",
        .no_interface_trail = "init.cc:84 init.cc:103",
        .root_mismatch = "bootstrap.cc:140",
        .root_duplicate = "bootstrap.cc:145",
        .refused = "misc/socket.cc:484",
        .refused_trail = "misc/socket.cc:567 misc/socket.cc:621 bootstrap.cc:285 init.cc:1534 "
                         "init.cc:1799 init.cc:1837",
        .closed = "misc/socket.cc:50",
        .no_network = "net.cc:579",
        .no_network_trail = "init.cc:321 init.cc:1533 init.cc:1799 init.cc:1837",
        .duplicate_gpu = "init.cc:943",
        .other_version = "init.cc:935",
        .init_trail = "init.cc:1548 init.cc:1799 init.cc:1837",
        .shm_extend = "misc/shmutils.cc:72",
        .shm_create = "misc/shmutils.cc:113",
        .shm_trail = "transport/shm.cc:114",
        .pool_trail = "@proxy.cc:1257 @proxy.cc:1320 proxy.cc:1068 transport/net.cc:229",
        .connect_trail = "transport.cc:33 transport.cc:113 init.cc:1263",
        .nvls = "transport/nvls.cc:210",
        .out_of_memory = "include/alloc.h:197",
        .no_block = "include/alloc.h:206",
        .verbs = "misc/ibvwrap.cc:34",
        .config = "init.cc:1690",
    },
    {
        .since = 22300,
        .no_interface = "bootstrap.cc:112",
        .no_interface_trail = "init.cc:83 init.cc:103",
        .root_mismatch = "bootstrap.cc:312",
        .root_duplicate = "bootstrap.cc:319",
        .refused = "misc/socket.cc:543",
        .refused_trail = "misc/socket.cc:634 misc/socket.cc:683 bootstrap.cc:605 bootstrap.cc:687 "
                         "init.cc:1460 init.cc:1750",
        .closed = "misc/socket.cc:71",
        .no_network = "net.cc:937",
        .no_network_trail = "init.cc:343 init.cc:1452 init.cc:1750",
        .duplicate_gpu = "init.cc:777",
        .other_version = "init.cc:769",
        .init_trail = "init.cc:1465 init.cc:1750",
        .shm_extend = "misc/shmutils.cc:87",
        .shm_create = "misc/shmutils.cc:128",
        .shm_trail = "@transport/shm.cc:547 @transport/shm.cc:488 transport/shm.cc:151",
        .pool_trail = "@proxy.cc:1308 @proxy.cc:1371 proxy.cc:1095 transport/net.cc:243",
        .connect_trail = "transport.cc:34 transport.cc:144 transport/generic.cc:19 init.cc:1205",
        .nvls = "transport/nvls.cc:248",
        .out_of_memory = "include/alloc.h:338",
        .no_block = "include/alloc.h:347",
        .verbs = "misc/ibvwrap.cc:35",
        .config = "init.cc:1820",
    },
    {
        .since = 22500,
        .no_interface = "bootstrap.cc:112",
        .no_interface_trail = "init.cc:74 init.cc:94",
        .root_mismatch = "bootstrap.cc:312",
        .root_duplicate = "bootstrap.cc:319",
        .refused = "misc/socket.cc:544",
        .refused_trail = "misc/socket.cc:635 misc/socket.cc:684 bootstrap.cc:605 bootstrap.cc:687 "
                         "init.cc:1414 init.cc:1714 init.cc:1740",
        .closed = "misc/socket.cc:71",
        .no_network = "plugin/net.cc:232",
        .no_network_trail = "init.cc:335 init.cc:1407 init.cc:1714 init.cc:1740",
        .duplicate_gpu = "init.cc:732",
        .other_version = "init.cc:724",
        .init_trail = "init.cc:1419 init.cc:1714 init.cc:1740",
        .shm_extend = "misc/shmutils.cc:87",
        .shm_create = "misc/shmutils.cc:128",
        .shm_trail = "@transport/shm.cc:549 @transport/shm.cc:491 transport/shm.cc:153",
        .pool_trail = "@proxy.cc:1333 @proxy.cc:1399 proxy.cc:1119 transport/net.cc:256",
        .connect_trail = "transport.cc:35 transport.cc:147 transport/generic.cc:19 init.cc:1158",
        .nvls = "transport/nvls.cc:280",
        .out_of_memory = "include/alloc.h:337",
        .no_block = "include/alloc.h:346",
        .verbs = "misc/ibvwrap.cc:35",
        .config = "init.cc:1800",
    },
    {
        .since = 22700,
        .no_interface = "bootstrap.cc:115",
        .no_interface_trail = "init.cc:80 init.cc:100",
        .root_mismatch = "bootstrap.cc:315",
        .root_duplicate = "bootstrap.cc:322",
        .refused = "misc/socket.cc:578",
        .refused_trail = "misc/socket.cc:670 misc/socket.cc:719 bootstrap.cc:608 bootstrap.cc:690 "
                         "init.cc:1444 init.cc:1832 init.cc:1858",
        .closed = "misc/socket.cc:71",
        .no_network = "plugin/net.cc:278",
        .no_network_trail = "init.cc:345 init.cc:1437 init.cc:1832 init.cc:1858",
        .duplicate_gpu = "init.cc:737",
        .other_version = "init.cc:729",
        .init_trail = "init.cc:1449 init.cc:1832 init.cc:1858",
        .shm_extend = "misc/shmutils.cc:87",
        .shm_create = "misc/shmutils.cc:128",
        .shm_trail = "@transport/shm.cc:549 @transport/shm.cc:491 transport/shm.cc:153",
        .pool_trail = "@proxy.cc:1336 @proxy.cc:1402 proxy.cc:1122 transport/net.cc:257",
        .connect_trail = "transport.cc:35 transport.cc:148 transport/generic.cc:19 init.cc:1161",
        .nvls = "transport/nvls.cc:284",
        .out_of_memory = "include/alloc.h:337",
        .no_block = "include/alloc.h:346",
        .verbs = "misc/ibvwrap.cc:39",
        .config = "init.cc:1640",
    },
    {
        .since = 22800,
        .no_interface = "bootstrap.cc:114",
        .no_interface_trail = "init.cc:126 init.cc:160",
        .root_mismatch = "bootstrap.cc:327",
        .root_duplicate = "bootstrap.cc:334",
        .refused = "misc/socket.cc:582",
        .refused_trail = "misc/socket.cc:674 misc/socket.cc:723 bootstrap.cc:618 bootstrap.cc:700 "
                         "init.cc:1577 init.cc:2028 init.cc:2055",
        .closed = "misc/socket.cc:71",
        .no_network = "plugin/net.cc:379",
        .no_network_trail = "init.cc:421 init.cc:1572 init.cc:2028 init.cc:2055",
        .duplicate_gpu = "init.cc:904",
        .other_version = "init.cc:896",
        .init_trail = "init.cc:1582 init.cc:2028 init.cc:2055",
        .shm_extend = "misc/shmutils.cc:87",
        .shm_create = "misc/shmutils.cc:131",
        .shm_trail = "@transport/shm.cc:549 @transport/shm.cc:491 transport/shm.cc:153",
        .pool_trail = "@proxy.cc:1367 @proxy.cc:1433 proxy.cc:1153 transport/net.cc:352",
        .connect_trail = "transport.cc:35 transport.cc:162 transport/generic.cc:25 init.cc:1282",
        .nvls = "transport/nvls.cc:285",
        .out_of_memory = "include/alloc.h:337",
        .no_block = "include/alloc.h:346",
        .verbs = "misc/ibvwrap.cc:40",
        .config = "init.cc:1790",
    },
    {
        .since = 22900,
        .no_interface = "bootstrap.cc:130",
        .no_interface_trail = "init.cc:141 init.cc:175",
        .root_mismatch = "bootstrap.cc:346",
        .root_duplicate = "bootstrap.cc:358",
        .refused = "os/linux.cc:221",
        .refused_trail = "misc/socket.cc:390 misc/socket.cc:439 bootstrap.cc:672 bootstrap.cc:776 "
                         "init.cc:1702 init.cc:2225 init.cc:2252",
        .closed = "misc/socket.cc:35",
        .no_network = "plugin/net.cc:326",
        .no_network_trail = "init.cc:448 init.cc:1695 init.cc:2225 init.cc:2252",
        .duplicate_gpu = "init.cc:974",
        .other_version = "init.cc:966",
        .init_trail = "init.cc:1707 init.cc:2225 init.cc:2252",
        .shm_extend = "misc/shmutils.cc:88",
        .shm_create = "misc/shmutils.cc:132",
        .shm_trail = "@transport/shm.cc:551 @transport/shm.cc:493 transport/shm.cc:155",
        .pool_trail = "@proxy.cc:1393 @proxy.cc:1451 proxy.cc:1166 transport/net.cc:356",
        .connect_trail = "transport.cc:36 transport.cc:163 transport/generic.cc:28 init.cc:1375",
        .nvls = "transport/nvls.cc:287",
        .out_of_memory = "include/alloc.h:431",
        .no_block = "include/alloc.h:440",
        .verbs = "misc/ibvwrap.cc:43",
        .config = "init.cc:1960",
    },
    {
        .since = 23000,
        .no_interface = "bootstrap.cc:126 (bootstrapNetInit)",
        .no_interface_trail = "init.cc:151 (initOnceFunc);init.cc:185 (ncclGetUniqueId)",
        .root_mismatch = "bootstrap.cc:335 (bootstrapRoot)",
        .root_duplicate = "bootstrap.cc:348 (bootstrapRoot)",
        .refused = "os/linux.cc:288 (socketConnectCheck)",
        .refused_trail =
            "misc/socket.cc:434 (socketProgressState);misc/socket.cc:484 (ncclSocketConnect);"
            "bootstrap.cc:660 (sendToRoot);bootstrap.cc:770 (bootstrapInit);"
            "init.cc:1916 (ncclCommInitRankFunc);init.cc:2544 (ncclCommInitRankDev);"
            "init.cc:2572 (ncclCommInitRank)",
        .closed = "misc/socket.cc:58 (socketProgressOpt)",
        .no_network = "plugin/net.cc:349 (ncclNetInit)",
        .no_network_trail = "init.cc:475 (commAlloc);init.cc:1908 (ncclCommInitRankFunc);"
                            "init.cc:2544 (ncclCommInitRankDev);init.cc:2572 (ncclCommInitRank)",
        .duplicate_gpu = "init.cc:1057 (initTransportsRank)",
        .other_version = "init.cc:1043 (initTransportsRank)",
        .init_trail = "init.cc:1921 (ncclCommInitRankFunc);init.cc:2544 (ncclCommInitRankDev);"
                      "init.cc:2572 (ncclCommInitRank)",
        .shm_extend = "os/linux.cc:795 (ncclOsShmOpen)",
        .shm_create = "os/linux.cc:842 (ncclOsShmOpen)",
        .shm_trail =
            "@transport/shm.cc:332 (ncclShmAllocateShareableBuffer);"
            "@transport/shm.cc:281 (shmRecvProxySetup);transport/shm.cc:142 (shmRecvSetup)",
        .pool_trail = "@proxy.cc:1457 (proxyProgressInit);@proxy.cc:1528 (proxyConnInit);"
                      "proxy.cc:1202 (ncclProxyConnect);transport/net.cc:368 (recvSetup)",
        .connect_trail =
            "transport.cc:34 (selectTransport);transport.cc:173 (ncclTransportP2pSetup);"
            "transport/generic.cc:28 (ncclTransportRingConnect);init.cc:1565 (initTransportsRank)",
        .nvls = "transport/nvls.cc:376 (nvlsGroupUnmapMem)",
        .out_of_memory = "include/alloc.h:511 (ncclCudaCallocAsyncDebug)",
        .no_block = "include/alloc.h:520 (ncclCudaCallocAsyncDebug)",
        .verbs = "misc/ibvwrap.cc:42 (wrap_ibv_create_cq)",
        .config = "init.cc:2265 (parseCommConfig)",
    },
};

}  // namespace

const Places& places() {
  const Places* best = kPlaces;
  for (const Places& one : kPlaces)
    if (one.since <= code_of(played())) best = &one;
  return *best;
}

void log_trail(int device, std::string_view trail, ncclResult_t result) {
  const char separator = trail.find('(') == std::string_view::npos ? ' ' : ';';
  while (!trail.empty()) {
    const std::size_t end = std::min(trail.find(separator), trail.size());
    std::string_view place = trail.substr(0, end);
    const bool by_proxy = place.starts_with('@');
    if (by_proxy) place.remove_prefix(1);
    log_info(Subsystem::all, device, std::string(place) + " -> " + std::to_string(result),
             by_proxy ? Voice::proxy : Voice::caller);
    trail.remove_prefix(std::min(end + 1, trail.size()));
  }
}

}  // namespace safelaunch::testing
