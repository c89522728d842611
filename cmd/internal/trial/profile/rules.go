package profile

// rules is the table by which stacks are classified. What comes first wins,
// wherever on the stack it is: a sweep that an allocation has to do first is
// sweeping, the allocation that a growing slice needs is growth.
//
// The names are those of Go 1.18 to 1.27; a name that only some of them have is
// no harm. A test compares the table with the functions that the runtimes have.
var rules = []rule{
	// What the kernel does. These are looked at for samples in the kernel only.
	{class: PageFaults, where: inKernel, names: []string{
		"asm_exc_page_fault", "exc_page_fault", "do_user_addr_fault", "do_page_fault", "page_fault", "async_page_fault", // amd64
		"el0_da", "el0_ia", "el1_abort", "el0_sync_compat_da", "do_mem_abort", "do_translation_fault", // arm64
		"handle_mm_fault", "handle_page_fault", "riscv_page_fault", "do_DataAbort",
	}},
	{class: Syscalls, where: inKernel, names: []string{
		"do_syscall_64", "x64_sys_call", "entry_SYSCALL_64*", "do_fast_syscall_32", "do_int80*", "__x64_sys_*", // amd64
		"el0_svc*", "invoke_syscall*", "do_el0_svc*", "__arm64_sys_*", // arm64
		"do_trap_ecall_u", "syscall_return_via_sysret", "syscall_exit_to_user_mode*",
	}},

	// The program's own profiler: what it interrupted does not matter.
	{class: Program, names: []string{"runtime.sigprof*", "runtime.(*cpuProfile).*", "runtime.(*profBuf).*"}},

	// A runtime that starts makes what a GC will need. Were that counted as GC, a
	// program that never collects would have a GC share.
	{class: Other, names: []string{"runtime.gcenable", "runtime.gcinit"}},

	// The scheduler runs on a stack of its own. Up to Go 1.20 frame pointers lead
	// from there to the goroutine that ran before, be it a mark worker, so this
	// must come before all that such a goroutine could be.
	{class: Scheduler, names: []string{
		"runtime.schedule", "runtime.findRunnable", "runtime.findrunnable", "runtime.park_m", "runtime.gosched_m",
		"runtime.goschedImpl", "runtime.goschedguarded_m", "runtime.gopreempt_m", "runtime.goyield_m",
		"runtime.preemptPark", "runtime.goexit0", "runtime.gdestroy", "runtime.exitsyscall0", "runtime.exitsyscallNoP",
		"runtime.stopm", "runtime.sysmon", "runtime.mspinning", "runtime.templateThread", "runtime.mexit",
	}},

	// Marking that the program must do itself before it may allocate.
	{class: GCAssist, names: []string{"runtime.gcAssistAlloc*", "runtime.gcParkAssist"}},

	// Sweeping, on behalf of whom ever, and returning memory to the OS.
	{class: GCSweep, names: []string{
		"runtime.bgsweep", "runtime.sweepone*", "runtime.finishsweep_m", "runtime.gcSweep",
		"runtime.gcPaceSweeper", "runtime.clobberfree",
		"runtime.(*sweepLocked).*", "runtime.(*sweepLocker).*", "runtime.(*sweepClass).*",
		"runtime.sweepClass.*",
		"runtime.(*mspan).ensureSwept", "runtime.(*mspan).reportZombies",
		"runtime.(*mheap).nextSpanForSweep", "runtime.(*mheap).reclaim*", "runtime.(*mheap).freeSpan*",
		"runtime.(*mcache).prepareForSweep", "runtime.prepareFreeWorkbufs", "runtime.freeSomeWbufs",
		"runtime.freeSpecial", "runtime.mProf_Free", "runtime.freeStackSpans", "runtime.nextMarkBitArenaEpoch",
		"runtime.freeDeadSpanSPMCs",
		"runtime.(*mspan).moveInlineMarks", "runtime.bgscavenge*", "runtime.gcPaceScavenger", "runtime.scavengeSleep",
		"runtime.(*pageAlloc).scavenge*", "runtime.(*scavengerState).*", "runtime.(*mheap).scavengeAll", "runtime.wakeScavenger",
		"runtime.printScavTrace", "runtime/debug.freeOSMemory",
		"runtime.fillAligned*", "runtime.queuefinalizer", "runtime.(*cleanupQueue).*", "runtime.(*cleanupBlock).*",
		"runtime.finalizercommit", "runtime.wakefing", "runtime.iterate_finq", "runtime.freeSomeWbufs.*",
		"runtime.freeUserArenaChunk*",
	}},

	// A GC cycle, as far as it is not part of the above: its workers, its
	// beginning and its end, and their stopping the world.
	{class: GCMark, names: []string{
		"runtime.gcBgMark*", "runtime.gcDrain*", "runtime.gcStart*", "runtime.gcMarkDone*", "runtime.gcMarkTermination*",
		"runtime.gcMarkRootCheck*", "runtime.gcMark", "runtime.gcMarkTinyAllocs", "runtime.gcPrepareMarkRoots*",
		"runtime.gcMarkRootPrepare*", "runtime.gcResetMarkState*", "runtime.gcScanFinalizer", "runtime.gcScanCleanup",
		"runtime.gcFlushBgCredit", "runtime.gcWakeAllAssists", "runtime.gcNextMarkRoot", "runtime.gcBeginWork",
		"runtime.gcEndWork", "runtime.gcIsMarkDone", "runtime.gcShouldScheduleWorker",
		"runtime.markroot*", "runtime.scanstack*", "runtime.scanframeworker", "runtime.shrinkstack",
		"runtime.(*gcControllerState).startCycle", "runtime.(*gcControllerState).endCycle", "runtime.(*gcControllerState).revise",
		"runtime.(*gcControllerState).resetLive", "runtime.gcControllerCommit", "runtime.gcComputeStartingStackSize",
		"runtime.stopTheWorldGC*", "runtime.startTheWorldGC*", "runtime.setGCPhase", "runtime.clearpools", "runtime.forcegchelper",
		"runtime.findGoroutineLeaks*", "runtime.findMaybeRunnableGoroutines", "runtime.allGsSnapshotSortedForGC", "runtime.GC",
		"runtime.goroutineLeakGC",
	}},

	// The write barrier before marking proper: what it marks, it marks for itself.
	{class: WriteBarrier, names: []string{
		"runtime.gcWriteBarrier*", "gcWriteBarrier", "runtime.wbBufFlush*", "runtime.(*wbBuf).*", "runtime.bulkBarrier*",
		"runtime.typeBitsBulkBarrier", "runtime.wbZero", "runtime.wbMove", "runtime.shade", "runtime.atomicwb", "runtime.atomicstorep",
	}},

	{class: GCMark, names: []string{
		"runtime.scanobject*", "runtime.scanblock*", "runtime.scanConservative*", "runtime.scanSpan*", "runtime.scanObject*",
		"runtime.greyobject",
		"runtime.gcmarknewobject", "runtime.tryDeferToSpanScan", "runtime.spanSetScans", "runtime.spanPtrMaskUnsafe",
		"runtime.extractHeapBitsSmall",
		"internal/runtime/gc/scan.*", "runtime.(*gcWork).*", "runtime.(*workbuf).*", "runtime.getempty*", "runtime.putempty",
		"runtime.putfull", "runtime.trygetfull", "runtime.handoff",
		"runtime.(*spanQueue).*", "runtime.(*localSpanQueue).*", "runtime.(*spanSPMC).*", "runtime.newSpanSPMC",
		"runtime.(*spanScanOwnership).*", "runtime.objptr.*", "runtime.makeObjPtr",
		"runtime.gcMarkWorkAvailable", "runtime.gcDumpObject", "runtime.gcenable.*",
		"runtime.gcParkStrongFromWeak", "runtime.gcWakeAllStrongFromWeak", "runtime.startCheckmarks*",
		"runtime.endCheckmarks", "runtime.setCheckmark", "runtime.getCheckmark", "runtime.runCheckmark", "runtime.readGOGC",
		"runtime.readGOMEMLIMIT", "runtime.(*stackScanState).*", "runtime.binarySearchTree", "runtime.(*stackObject).*",
		"runtime.(*stackObjectBuf).*",
	}},

	// Copying what has become too small: slices, maps, stacks.
	{class: Growth, names: []string{
		"runtime.growslice*", "reflect.growslice", "runtime.nextslicecap",
		"runtime.hashGrow", "runtime.growWork*", "runtime.evacuate*", "runtime.advanceEvacuationMark",
		"runtime.bucketEvacuated", "runtime.tooManyOverflowBuckets", "runtime.overLoadFactor",
		"internal/runtime/maps.(*table).grow", "internal/runtime/maps.(*table).rehash", "internal/runtime/maps.(*table).split",
		"internal/runtime/maps.(*table).pruneTombstones", "internal/runtime/maps.(*table).uncheckedPutSlot",
		"internal/runtime/maps.(*Map).growTo*", "internal/runtime/maps.(*Map).installTableSplit",
		"internal/runtime/maps.(*Map).replaceTable",
		"runtime.copystack", "runtime.adjustframe", "runtime.adjustpointers", "runtime.adjustpointer", "runtime.adjustdefers",
		"runtime.adjustsudogs", "runtime.adjustctxt", "runtime.adjustpanics", "runtime.syncadjustsudogs", "runtime.fillstack",
		"runtime.findsghi",
	}},

	// Zeroing new memory. A program that clears its own memory does so for itself.
	{class: Zeroing, where: leaf, names: []string{"runtime.memclrNoHeapPointers*", "runtime.(*mheap).allocNeedsZero"}, under: []string{
		"runtime.mallocgc*", "runtime.newobject", "runtime.newarray", "runtime.makeslice*", "runtime.rawbyteslice",
		"runtime.rawruneslice", "runtime.makechan*", "runtime.(*mheap).*", "runtime.(*mcache).*",
		"runtime.(*userArena).*", "runtime.moveSlice*", "runtime.memclrNoHeapPointersChunked", "runtime.newMarkBits",
		"runtime.newAllocBits", "runtime.newArenaMayUnlock",
	}},

	{class: Allocation, names: []string{
		"runtime.mallocgc*", "runtime.mallocPanic", "runtime.newobject", "runtime.newarray", "runtime.makeslice*", "runtime.makechan*",
		"runtime.makemap*", "runtime.makeBucketArray", "runtime.freegc", "runtime.growsliceBuf*", "runtime.moveSlice*",
		"reflect.unsafe_New*", "internal/reflectlite.unsafe_New", "reflect.makechan", "reflect.makemap", "internal/bytealg.MakeNoZero",
		"internal/runtime/maps.newobject", "internal/runtime/maps.newarray", "internal/runtime/maps.newGroups",
		"internal/runtime/maps.newTable", "internal/runtime/maps.NewMap", "internal/runtime/maps.NewEmptyMap",
		"internal/runtime/maps.(*table).reset", "internal/runtime/maps.(*groupsReference).*",
		"runtime.(*mcache).*", "runtime.(*mcentral).*", "runtime.(*mheap).*", "runtime.(*mspan).*", "runtime.(*mSpanList).*",
		"runtime.(*mSpanStateBox).*", "runtime.(*spanSet).*", "runtime.(*atomicSpanSetSpinePointer).*",
		"runtime.(*spanSetBlockAlloc).*", "runtime.(*atomicHeadTailIndex).*", "runtime.(*atomicMSpanPointer).*",
		"runtime.(*sysMemStat).*", "runtime.(*pageAlloc).*", "runtime.(*pageCache).*", "runtime.(*fixalloc).*",
		"runtime.(*linearAlloc).*", "runtime.(*notInHeap).*",
		"runtime.(*pallocBits).*", "runtime.(*pallocData).*", "runtime.(*pageBits).*", "runtime.pallocSum.*",
		"runtime.mergeSummaries", "runtime.packPallocSum", "runtime.findBitRange64", "runtime.offAddrToLevelIndex",
		"runtime.levelIndexToOffAddr", "runtime.addrsToSummaryRange", "runtime.blockAlignSummaryRange", "runtime.chunkIndex",
		"runtime.chunkBase", "runtime.chunkIdx.*", "runtime.(*addrRanges).*", "runtime.addrRange.*",
		"runtime.(*scavengeIndex).*", "runtime.scavChunk*", "runtime.(*scavChunk*", "runtime.(*atomicScavChunkData).*",
		"runtime.unpackScavChunkData", "runtime.(*atomicOffAddr).*",
		"runtime.nextFreeFast", "runtime.roundupsize", "runtime.heapBitsInSpan", "runtime.heapArenaOf",
		"runtime.gclinkptr.ptr", "runtime.buildGCMask", "runtime.(*lfstack).*", "runtime.lfnodeValidate", "runtime.lfstack*",
		"runtime.taggedPointer*", "runtime.offAddr.*", "runtime.makeAddrRange", "runtime.makeHeadTailIndex",
		"runtime.headTailIndex.*", "runtime.needZeroAfterSysUnused*", "runtime.setVMAName*", "runtime.getHugePageSize",
		"runtime.mWeakPointer.*", "runtime.newMWeakPointer", "runtime.(*immortalWeakHandle*", "runtime.stackinit",
		"runtime.spanAllocType.*", "runtime.setCleanupContext", "runtime.setFinalizerContext", "runtime.getCleanupContext",
		"runtime.clearCleanupContext", "runtime.clearFinalizerContext", "runtime.setTinyBlockContext", "runtime.inTinyBlock",
		"runtime.Cleanup.Stop*", "runtime.forEachSpecial", "runtime.isGoPointerWithoutSpan", "weak.Make*", "weak.Pointer*",
		"runtime.(*listHeadManual).*", "runtime.(*gcBits*", "runtime.persistentalloc*", "runtime.inPersistentAlloc",
		"runtime.profilealloc", "runtime.nextSample*", "runtime.fastexprand", "runtime.mProf_Malloc*",
		"runtime.preMallocgcDebug", "runtime.postMallocgcDebug", "runtime.deductAssistCredit", "runtime.publicationBarrier",
		"runtime.getMCache", "runtime.allocmcache", "runtime.freemcache*", "runtime.nextHeapRandBits",
		"runtime.heapSetType*", "runtime.heapBitsSetType*", "runtime.writeHeapBits*", "runtime.writeHeapBits.*",
		"runtime.runGCProg", "runtime.progToPointerMask", "runtime.materializeGCProg", "runtime.dematerializeGCProg",
		"runtime.sysAlloc*", "runtime.sysMap*", "runtime.sysUsed*", "runtime.sysUnused*", "runtime.sysReserve*",
		"runtime.sysUnreserve*", "runtime.sysHugePage*", "runtime.sysNoHugePage*", "runtime.sysFree*", "runtime.sysFault*",
		"runtime.mmap*", "runtime.munmap*", "runtime.madvise*", "runtime.sysMmap", "runtime.sysMunmap", "runtime.callCgoMmap",
		"runtime.callCgoMunmap",
		"runtime.rawstring*", "runtime.rawbyteslice", "runtime.rawruneslice", "runtime.(*hmap).newoverflow",
		"runtime.(*hmap).createOverflow", "runtime.(*hmap).incrnoverflow",
		"runtime.addspecial", "runtime.removespecial*", "runtime.addfinalizer", "runtime.removefinalizer",
		"runtime.SetFinalizer*", "runtime.createfing", "runtime.AddCleanup*", "runtime.addCleanup", "runtime.setprofilebucket",
		"runtime.spanHasSpecials", "runtime.spanHasNoSpecials", "runtime.newBucket", "runtime.stkbucket",
		"runtime.getOrAddWeakHandle*", "runtime.getWeakHandle", "weak.runtime_*", "runtime.newMarkBits",
		"runtime.newAllocBits", "runtime.newArenaMayUnlock", "runtime.(*specialsIter).*", "runtime.recordspan",
		"runtime.spanOf*", "runtime.makeSpanClass", "runtime.spanClass.*", "runtime.arenaIndex", "runtime.arenaBase",
		"runtime.inheap", "runtime.inHeapOrStack", "runtime.pageIndexOf", "runtime.heapRetained",
		"runtime.(*consistentHeapStats).*", "runtime.(*heapStatsDelta).*", "runtime.mallocinit*",
		"runtime.stackalloc*", "runtime.stackfree*", "runtime.stackpool*", "runtime.stackcache*", "runtime.(*userArena).*",
		"runtime.newUserArena*", "runtime.userArena*", "arena.*", "runtime.inUserArenaChunk",
	}},

	// What marking and sweeping use and others, too: it is theirs if nothing above
	// says whose. An allocation asks whether there is anything to sweep.
	{class: GCSweep, names: []string{"runtime.deductSweepCredit", "runtime.isSweepDone", "runtime.(*activeSweep).*"}},
	{class: GCMark, names: []string{
		"runtime.(*mspan).markBits*", "runtime.(*mspan).inlineMarkBits", "runtime.(*mspan).scannedBits*", "runtime.markBits*",
		"runtime.(*markBits).*", "runtime.isMarkedOrNotInHeap", "runtime.findObject", "runtime.badPointer",
		"runtime.typePointers.*", "runtime.(*mspan).typePointers*", "runtime.heapBits.*", "runtime.heapBitsForAddr",
		"runtime.(*mspan).heapBits*", "runtime.heapBitsSlice", "runtime.spanHeapBitsRange",
		"runtime.(*limiterEvent).*", "runtime.limiterEventStamp.*", "runtime.makeLimiterEventStamp",
		"runtime.(*gcCPULimiterState).*", "runtime.(*gcControllerState).*", "runtime.gcTrigger.*",
		"runtime.pollFractionalWorkerExit", "runtime.gcWaitOnMark", "runtime.dumpScanStats",
		"runtime.(*spanInlineMarkBits).*", "runtime.spanInlineMarkBitsFromBase", "runtime.gcUsesSpanInlineMarkBits", "runtime.mProf_*",
		"runtime.setSyncObjectsUntraceable*", "runtime.gcRestoreSyncObjects*",
		"runtime.(*piController).*", "runtime.getGCMask*", "runtime.getGCMaskOnDemand*",
	}},

	{class: Syscalls, names: []string{
		"syscall.Syscall*", "syscall.RawSyscall*", "syscall.rawSyscall*", "syscall.syscall*", "syscall.runtime_*",
		"syscall.forkAndExecInChild*", "syscall.rawVforkSyscall", "runtime.entersyscall*", "runtime.exitsyscall*",
		"runtime.reentersyscall", "runtime.addGSyscallNoP", "runtime.decGSyscallNoP", "runtime.syscallingThread.*",
		"syscall.Exit", "runtime.exit",
	}},

	{class: Scheduler, names: []string{
		"runtime.lock", "runtime.lock2", "runtime.lockWithRank*", "runtime.unlock", "runtime.unlock2*",
		"runtime.unlockWithRank", "runtime.futex*", "runtime.note*", "runtime.sem*", "runtime.less", "runtime.(*semaRoot).*",
		"runtime.(*semTable).*", "runtime.cansemacquire", "runtime.readyWithTime", "runtime.mutex*",
		"runtime.(*mLockProfile).*", "runtime.(*rwmutex).*", "runtime.procyield*", "runtime.osyield*", "runtime.usleep*",
		"runtime.acquirem", "runtime.releasem", "runtime.blockevent", "runtime.saveblockevent*",
		"runtime.gopark*", "runtime.goyield", "runtime.parkunlock_c", "runtime.wakeNetPoller", "runtime.guintptr.*",
		"runtime.puintptr.*", "runtime.muintptr.*", "runtime.(*guintptr).*", "runtime.(*puintptr).*", "runtime.(*muintptr).*",
		"runtime.(*g).*", "runtime.save", "runtime.forEachG*", "runtime.xReg*", "runtime.(*xRegPerP).*",
		"runtime.gostartcall*", "runtime.timerchandrain", "runtime.blockTimerChan", "runtime.unblockTimerChan",
		"runtime.mReserveID", "runtime.lockextra", "runtime.unlockextra", "runtime.getExtraM", "runtime.putExtraM",
		"runtime.addExtraM", "runtime.(*wakeableSleep).*", "runtime.(*synctestBubble).*", "runtime.isShrinkStackSafe",
		"runtime.unminit*", "runtime.startTemplateThread", "runtime.goready*", "runtime.ready*", "runtime.Gosched",
		"runtime.gosched*", "runtime.gogo", "gogo", "runtime.execute", "runtime.casgstatus*", "runtime.castogscanstatus",
		"runtime.casfrom_Gscanstatus", "runtime.casGTo*", "runtime.casGFrom*", "runtime.readgstatus", "runtime.dropg",
		"runtime.wakep", "runtime.startm", "runtime.handoffp", "runtime.injectglist*", "runtime.runq*", "runtime.globrunq*",
		"runtime.pidle*", "runtime.mput", "runtime.mget*", "runtime.stealWork", "runtime.checkRunqsNoP",
		"runtime.checkTimersNoP", "runtime.checkIdleGCNoP", "runtime.pollWork", "runtime.resetspinning", "runtime.acquirep*",
		"runtime.releasep*", "runtime.wirep*", "runtime.retake", "runtime.preempt*", "runtime.asyncPreempt*",
		"runtime.suspendG", "runtime.resumeG", "runtime.wantAsyncPreempt", "runtime.isAsyncSafePoint", "runtime.canPreemptM",
		"runtime.(*gQueue).*", "runtime.(*gList).*", "runtime.pMask.*", "runtime.(*randomOrder).*", "runtime.(*randomEnum).*",
		"runtime.(*m).*", "runtime.(*p).*",
		"runtime.newproc*", "runtime.gfget*", "runtime.gfput*", "runtime.gfpurge", "runtime.malg*", "runtime.allgadd",
		"runtime.saveAncestors", "runtime.newm*", "runtime.newosproc*", "runtime.clone*", "runtime.allocm*",
		"runtime.mcommoninit", "runtime.minit*", "runtime.mpreinit", "runtime.newstack", "runtime.acquireSudog",
		"runtime.releaseSudog", "runtime.startTheWorld*", "runtime.stopTheWorld*", "runtime.forEachP*",
		"runtime.runSafePointFn", "runtime.procresize", "runtime.gcstopm", "runtime.LockOSThread", "runtime.UnlockOSThread",
		"runtime.lockOSThread", "runtime.unlockOSThread", "runtime.dolockOSThread", "runtime.dounlockOSThread",
		"runtime.stoplockedm", "runtime.startlockedm", "runtime.schedEnabled", "runtime.schedEnableUser",
		"runtime.GOMAXPROCS*", "runtime.mPark", "runtime.incidlelocked", "runtime.checkdead",
		"runtime.chansend*", "runtime.chanrecv*", "runtime.send", "runtime.sendDirect", "runtime.recv", "runtime.recvDirect",
		"runtime.closechan*", "runtime.selectgo*", "runtime.selectnb*", "runtime.sellock", "runtime.selunlock",
		"runtime.selparkcommit", "runtime.chanparkcommit", "runtime.(*waitq).*", "runtime.(*hchan).*", "runtime.block",
		"runtime.full", "runtime.empty", "runtime.chanlen", "runtime.chancap", "reflect.chan*", "reflect.rselect*",
		"runtime.netpoll*", "runtime.(*pollDesc).*", "runtime.(*pollCache).*", "internal/poll.runtime_*", "runtime.pollInfo.*",
		"runtime.(*timer).*", "runtime.(*timers).*", "runtime.timerWhen.*", "time.Sleep", "time.stopTimer", "time.resetTimer",
		"time.newTimer", "time.startTimer", "time.modTimer", "time.goFunc", "time.sendTime", "runtime.addtimer",
		"runtime.doaddtimer", "runtime.deltimer", "runtime.dodeltimer*", "runtime.modtimer", "runtime.resettimer",
		"runtime.cleantimers", "runtime.moveTimers", "runtime.adjusttimers", "runtime.addAdjustedTimers", "runtime.runtimer",
		"runtime.runOneTimer", "runtime.clearDeletedTimers", "runtime.siftupTimer", "runtime.siftdownTimer",
		"runtime.checkTimers", "runtime.nobarrierWakeTime", "runtime.goroutineReady", "runtime.resetForSleep",
		"runtime.timeSleepUntil",
		"runtime.sigtramp*", "runtime.sigtrampgo", "runtime.sighandler*", "runtime.sigreturn*", "runtime.sigFetchG*",
		"runtime.adjustSignalStack*", "runtime.doSigPreempt", "runtime.sigfwdgo", "runtime.sigprof*", "runtime.signalM",
		"runtime.tgkill", "runtime.rtsigprocmask", "runtime.sigprocmask", "runtime.sigaltstack", "runtime.sigblock",
		"runtime.sigsave", "runtime.signalstack", "runtime.setGsignalStack", "runtime.setg", "runtime.setitimer",
		"runtime.timer_*", "runtime.gettid", "runtime.unblocksig", "runtime.sigaddset", "runtime.raise*", "runtime.sig*",
		"os/signal.signal_*", "runtime.cgoSigtramp",
		"sync.(*Mutex).*", "sync.(*RWMutex).*", "sync.(*WaitGroup).*", "sync.(*Cond).*", "internal/sync.(*Mutex).*",
		"sync.runtime_*", "internal/sync.runtime_*", "sync/atomic.runtime_*", "runtime.procPin", "runtime.procUnpin",
		"runtime.traceAcquire*", "runtime.trace*", "runtime.epollwait", "runtime.epollctl", "internal/runtime/syscall.Epoll*",
		"internal/runtime/syscall/linux.Epoll*", "runtime/internal/syscall.Epoll*",
	}},

	// These are the outer end of every stack, or stand between two stacks: they
	// say something only where nothing else is below them.
	{class: Scheduler, where: leaf, names: []string{
		"runtime.mcall", "runtime.goexit*", "runtime.mstart*", "runtime.morestack*", "runtime.systemstack*",
		"gosave_systemstack_switch",
	}},

	// Raw system calls of the runtime that nothing above explains.
	{class: Syscalls, names: callNames},

	// Functions of the runtime that do what the program asks for: its maps,
	// strings, interfaces, copies, panics, clocks and random numbers.
	{class: Program, names: []string{
		"runtime.mapaccess*", "runtime.mapassign*", "runtime.mapdelete*", "runtime.mapiter*", "runtime.mapIter*",
		"runtime.mapclear*", "runtime.mapclone*", "runtime.keys", "runtime.values", "runtime.moveToBmap", "runtime.copyKeys",
		"runtime.copyValues", "runtime.(*bmap).*", "runtime.(*hmap).*", "runtime.(*maptype).*", "runtime.bucketShift",
		"runtime.bucketMask", "runtime.tophash", "runtime.isEmpty", "internal/runtime/maps.*", "maps.clone",
		"runtime.memmove*", "runtime.memequal*", "memeqbody", "runtime.memhash*", "runtime.strhash*", "aeshashbody",
		"runtime.typehash*", "runtime.interhash", "runtime.nilinterhash", "runtime.f32hash", "runtime.f64hash",
		"runtime.c64hash", "runtime.c128hash", "runtime.mix*", "runtime.r4", "runtime.r8", "runtime.readUnaligned*",
		"runtime.typedmemmove*", "runtime.typedslicecopy", "runtime.typedmemclr*", "runtime.memclr*", "reflect.*",
		"internal/reflectlite.*", "runtime.slicecopy", "runtime.duff*", "type:*", "type..*", "runtime.cmpstring", "cmpbody",
		"runtime.ifaceeq", "runtime.efaceeq", "runtime.strequal", "runtime.interequal", "runtime.nilinterequal",
		"runtime.f32equal", "runtime.f64equal", "runtime.c64equal", "runtime.c128equal", "runtime.memequal_varlen",
		"internal/bytealg.*", "countbody", "indexbody", "indexbytebody", "runtime.racefuncenter",
		"runtime.assert*", "runtime.typeAssert*", "runtime.interfaceSwitch*", "runtime.getitab*", "runtime.(*itabTableType).*",
		"runtime.itab*", "runtime.conv*", "runtime.rtype.*", "runtime.typesEqual", "runtime.resolve*", "runtime.name.*",
		"runtime.concat*", "runtime.slicebytetostring*", "runtime.stringtoslice*", "runtime.slicerunetostring",
		"runtime.intstring", "runtime.decoderune", "runtime.encoderune", "runtime.gostring*", "runtime.gobytes",
		"runtime.findnull*", "runtime.atoi*", "runtime.itoa*", "runtime.print*", "runtime.gwrite", "runtime.stringStructOf",
		"runtime.stringDataOnStack",
		"runtime.gopanic", "runtime.gorecover", "runtime.recovery*", "runtime.defer*", "runtime.newdefer*",
		"runtime.freedefer*", "runtime.popDefer*", "runtime.panic*", "runtime.goPanic*", "runtime.(*_panic).*",
		"runtime.runOpenDeferFrame", "runtime.addOneOpenDeferFrame*", "runtime.call1*", "runtime.call2*", "runtime.call3*",
		"runtime.call4*", "runtime.call5*", "runtime.call6*", "runtime.call8*", "callRet", "runtime.reflectcall*",
		"runtime.Callers*", "runtime.callers*", "runtime.Caller*", "runtime.(*Frames).*", "runtime.FuncForPC",
		"runtime.(*Func).*", "runtime.funcfile", "runtime.funcline*", "runtime.funcname*", "runtime.(*unwinder).*",
		"runtime.gentraceback", "runtime.pcvalue*", "runtime.pcdatavalue*", "runtime.findfunc*", "runtime.funcspdelta",
		"runtime.step", "runtime.readvarint", "runtime.funcMaxSPDelta", "runtime.(*inlineUnwinder).*",
		"runtime.newInlineUnwinder", "runtime.tracebackPCs", "runtime.tracebackHexdump", "runtime.fpTracebackPCs",
		"runtime.fpTracebackPartialExpand", "runtime.findmoduledatap", "runtime.funcInfo.*", "runtime.(*moduledata).*",
		"runtime.funcpkgpath", "runtime.MemProfile*", "runtime.ReadMemStats*", "runtime.readmemstats_m",
		"runtime.readMetrics*", "runtime/metrics.*", "runtime/pprof.*", "runtime/debug.*", "runtime/trace.*", "runtime.Stack*",
		"runtime.goroutineProfile*", "runtime.GoroutineProfile",
		"runtime.nanotime*", "runtime.walltime*", "time.now", "time.runtime*", "runtime.vdso*", "runtime.cputicks",
		"runtime.rand*", "runtime.fastrand*", "runtime.cheaprand*", "internal/chacha8rand.*", "runtime.vgetrandom*",
		"runtime.bootstrapRand*", "runtime.legacy_fastrand*", "math/rand.runtime_*",
		"runtime.cgocall*", "runtime.asmcgocall*", "runtime.cgoCheck*", "runtime.cgocallback*", "runtime.needm*",
		"runtime.dropm", "runtime.main", "runtime.main.*", "runtime.doInit*", "main.*", "runtime.runFinalizers",
		"runtime.runfinq", "runtime.runCleanups", "runtime.KeepAlive", "runtime.(*Pinner).*", "runtime.(*pinner).*",
		"runtime.setPinned*", "runtime.isPinned", "runtime.udiv", "runtime.int64*", "runtime.uint64*", "runtime.float64*",
		"runtime.complex128div", "runtime.checkptr*", "runtime.unsafeslice*", "runtime.unsafestring*", "runtime.libfuzzer*",
		"runtime.race*", "runtime.asan*", "runtime.msan*", "sync.(*Pool).*", "sync.(*Once).*", "sync.(*Map).*",
		"sync/atomic.*",
	}},
}

// callNames are the functions that enter the kernel. A sample in the kernel
// whose innermost function is one of them is in a system call; in any other
// function of Go it can only be in a fault or an interrupt.
var callNames = []string{
	"internal/runtime/syscall.*", "internal/runtime/syscall/linux.*", "runtime/internal/syscall.*", "syscall.Syscall*",
	"syscall.RawSyscall*", "syscall.rawSyscall*", "syscall.rawVforkSyscall", "syscall.gettimeofday",
	"runtime.futex", "runtime.madvise", "runtime.mmap", "runtime.munmap", "runtime.sysMmap", "runtime.sysMunmap",
	"runtime.usleep", "runtime.osyield", "runtime.write1", "runtime.read", "runtime.open", "runtime.closefd", "runtime.pipe2",
	"runtime.exit", "runtime.exitThread", "runtime.clone", "runtime.tgkill", "runtime.raise", "runtime.raiseproc",
	"runtime.gettid", "runtime.getpid", "runtime.rt_sigaction", "runtime.sysSigaction", "runtime.rtsigprocmask",
	"runtime.sigaltstack", "runtime.sigreturn*", "runtime.setitimer", "runtime.timer_create", "runtime.timer_settime",
	"runtime.timer_delete", "runtime.sched_getaffinity", "runtime.mincore", "runtime.epollwait", "runtime.epollctl",
	"runtime.epollcreate*", "runtime.fcntl", "runtime.settls",
	"runtime.callCgoMmap", "runtime.callCgoMunmap",
	"golang.org/x/sys/unix.Syscall*", "golang.org/x/sys/unix.RawSyscall*",
}
