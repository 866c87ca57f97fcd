"""The keys that Slurm 26.05 reads: data only. tests/contract/test_conf.py asks Slurm for each.

An unknown key makes every Slurm command fail, so a key of a later Slurm must be added here.
"""

from typing import Final

from windlass.slurm.conf.formats import Format, table

SLURM: Final = table(
    text="""
    AccountingStorageBackupHost AccountingStorageEnforce AccountingStorageExternalHost
    AccountingStorageHost AccountingStorageParameters AccountingStoragePass
    AccountingStorageTRES AccountingStorageType AccountingStorageUser AccountingStoreFlags
    AcctGatherEnergyType AcctGatherFilesystemType AcctGatherInfinibandType
    AcctGatherInterconnectType AcctGatherProfileType AuthAltParameters AuthAltTypes AuthInfo
    AuthType BackupAddr BackupController BcastExclude BcastParameters BurstBufferParameters
    BurstBufferType CertgenParameters CertgenType CertmgrParameters CertmgrType
    CliFilterParameters CliFilterPlugins ClusterName CommunicationParameters ControlAddr
    ControlMachine CoreSpecPlugin CpuFreqDef CpuFreqGovernors CredType CryptoType
    DataParserParameters DebugFlags DependencyParameters EnforcePartLimits ExtSensorsFreq
    ExtSensorsType FederationParameters GetEnvTimeout GpuFreqDef GresTypes HashPlugin
    HealthCheckNodeState HealthCheckProgram HttpParserType InteractiveStepOptions
    JobAcctGatherFrequency JobAcctGatherParams JobAcctGatherType JobCompHost JobCompLoc
    JobCompParams JobCompPass JobCompPassScript JobCompType JobCompUser JobContainerType
    JobCredentialPrivateKey JobCredentialPublicCertificate JobSubmitPlugins LaunchParameters
    LaunchType LicenseParameters Licenses LogTimeFormat MailDomain MailProg MCSParameters
    MCSPlugin MetricsAuthUsers MetricsParameters MetricsType MpiDefault MpiParams NamespaceType
    NodeFeaturesPlugins PluginDir PlugStackConfig PowerParameters PowerPlugin PreemptExemptTime
    PreemptMode PreemptParameters PreemptType PrEpParameters PrEpPlugins PriorityCalcPeriod
    PriorityDecayHalfLife PriorityFlags PriorityMaxAge PriorityParameters
    PrioritySiteFactorParameters PrioritySiteFactorPlugin PriorityType PriorityUsageResetPeriod
    PriorityWeightTRES PrivateData ProctrackType PrologFlags PropagateResourceLimits
    PropagateResourceLimitsExcept RebootProgram ReconfigFlags RequeueExit RequeueExitHold
    ResumeFailProgram ResumeProgram ResvEpilog ResvProlog RoutePlugin SbcastParameters
    SchedulerParameters SchedulerType ScronParameters SelectType SelectTypeParameters
    SlurmctldAddr SlurmctldDebug SlurmctldHttpAuthParameters SlurmctldLogFile
    SlurmctldParameters SlurmctldPidFile SlurmctldPort SlurmctldPrimaryOffProg
    SlurmctldPrimaryOnProg SlurmctldSyslogDebug SlurmdDebug SlurmdHttpAuthParameters
    SlurmdLogFile SlurmdParameters SlurmdPidFile SlurmdSpoolDir SlurmdSyslogDebug SlurmdUser
    SlurmSchedLogFile SlurmUser SrunEpilog SrunPortRange SrunProlog StateSaveLocation
    SuspendExcNodes SuspendExcParts SuspendExcStates SuspendProgram SuspendTime SwitchParameters
    SwitchType TaskEpilog TaskPlugin TaskPluginParam TaskProlog TLSParameters TLSType TmpFS
    TopologyParam TopologyPlugin UnkillableStepProgram UrlParserType X11Parameters
    """,
    u16="""
    AccountingStoragePort AcctGatherNodeFreq BatchStartTimeout CompleteWait EioTimeout
    EpilogTimeout FairShareDampeningFactor FastSchedule GroupUpdateForce GroupUpdateTime
    HealthCheckInterval HealthCheckTimeout InactiveLimit JobFileAppend JobRequeue KillOnBadExit
    KillWait MaxTasksPerNode MessageTimeout OverTimeLimit PrologEpilogTimeout PrologTimeout
    PropagatePrioProcess ResumeRate ResumeTimeout ResvOverRun ReturnToService SchedulerTimeSlice
    SlurmctldTimeout SlurmdTimeout SlurmSchedLogLevel SuspendRate SuspendTimeout TCPTimeout
    TreeWidth UnkillableStepTimeout VSizeFactor WaitTime
    """,
    u32="""
    EpilogMsgTime FirstJobId JobCompPort KeepAliveTime MaxArraySize MaxBatchRequeue MaxDBDMsgs
    MaxJobCount MaxJobId MaxNodeCount MaxStepCount MinJobAge PriorityWeightAge
    PriorityWeightAssoc PriorityWeightFairshare PriorityWeightJobSize PriorityWeightPartition
    PriorityWeightQOS SlurmdPort
    """,
    u64="DefCPUPerGPU DefMemPerCPU DefMemPerGPU DefMemPerNode MaxMemPerCPU MaxMemPerNode",
    boolean="AllowSpecResourcesUsage DisableRootJobs PriorityFavorSmall TrackWCKey UsePAM",
)

NODE: Final = table(
    text="""
    BcastAddr CpuBind CPUSpecList Feature Features Gres GresConf NodeAddr NodeHostname
    Parameters Port Reason State SuspendTime Topology TRESWeights
    """,
    u16="""
    Boards CoreSpecCount CoresPerSocket CPUs Procs RestrictedCoresPerGPU Sockets SocketsPerBoard
    ThreadsPerCore
    """,
    u32="TmpDisk Weight",
    u64="MemSpecLimit RealMemory",
)

PARTITION: Final = table(
    text="""
    AllocNodes AllowAccounts AllowGroups AllowQos Alternate CpuBind DefaultTime DenyAccounts
    DenyQos Exclusive MaxTime Nodes OverSubscribe OverTimeLimit PreemptMode QOS
    SelectTypeParameters Shared State SuspendTime Topology TRESBillingWeights
    """,
    u16="Priority PriorityJobFactor PriorityTier ResumeTimeout SuspendTimeout",
    u32="GraceTime MaxCPUsPerNode MaxCPUsPerSocket MaxNodes MinNodes",
    u64="DefCPUPerGPU DefMemPerCPU DefMemPerGPU DefMemPerNode MaxMemPerCPU MaxMemPerNode",
    boolean="""
    Default DisableRootJobs ExclusiveTopo ExclusiveUser Hidden LLN PowerDownOnIdle ReqResv
    RootOnly
    """,
)

CGROUP: Final = table(
    text="""
    AllowedDevicesFile CgroupAutomount CgroupMountpoint CgroupPlugin CgroupSlice
    EnableExtraControllers
    """,
    u64="MemorySwappiness MinRAMSpace SystemdTimeout",
    decimal="""
    AllowedRAMSpace AllowedSwapSpace MaxRAMPercent MaxSwapPercent MemoryLimitThreshold
    """,
    boolean="""
    CgroupJobIdPaths ConstrainCores ConstrainDevices ConstrainRAMSpace ConstrainSwapSpace
    EnableControllers IgnoreSystemd IgnoreSystemdOnFailure MemoryLimitEnforcement
    SignalChildrenProcesses
    """,
)

GRES: Final = table(
    text="AutoDetect Cores Count CPUs File Files Flags Link Links MultipleFiles Name Type",
)

SLURMDBD: Final = table(
    text="""
    ArchiveDir ArchiveScript AuthAltParameters AuthAltTypes AuthInfo AuthType
    CommunicationParameters DbdAddr DbdBackupHost DbdHost DebugFlags DebugLevel DebugLevelSyslog
    DefaultQOS HashPlugin LogFile LogTimeFormat MaxQueryTimeRange Parameters PidFile PluginDir
    PrivateData PurgeEventAfter PurgeJobAfter PurgeJobEnvAfter PurgeJobScriptAfter
    PurgeResvAfter PurgeStepAfter PurgeSuspendAfter PurgeTXNAfter PurgeUsageAfter SlurmUser
    StorageBackupHost StorageHost StorageLoc StorageParameters StoragePass StoragePassScript
    StorageType StorageUser TLSParameters TLSType
    """,
    u16="CommitDelay DbdPort MessageTimeout StoragePort TCPTimeout",
    u32="""
    JobPurge MaxPurgeLimit PurgeEventMonths PurgeJobMonths PurgeStepMonths PurgeSuspendMonths
    PurgeTXNMonths PurgeUsageMonths StepPurge
    """,
    boolean="""
    AllowNoDefAcct AllResourcesAbsolute ArchiveEvents ArchiveJobEnv ArchiveJobs ArchiveJobScript
    ArchiveResvs ArchiveSteps ArchiveSuspend ArchiveTXN ArchiveUsage DisableArchiveCommands
    DisableCoordDBD DisableRollups TrackSlurmctldDown TrackWCKey
    """,
)

SLURM_CONF: Final = Format(
    file="slurm.conf",
    parameters={**SLURM, **table(text="Epilog EpilogSlurmctld Prolog PrologSlurmctld")},
    records={
        "DownNodes": table(text="Reason State"),
        "NodeName": NODE,
        "NodeSet": table(text="Feature Nodes"),
        "PartitionName": PARTITION,
        "PowerAction": table(text="Program Location"),
        "SlurmctldHost": table(),
    },
    repeated=frozenset({"epilog", "epilogslurmctld", "prolog", "prologslurmctld"}),
    unique=frozenset({"nodename", "nodeset", "partitionname", "poweraction", "slurmctldhost"}),
    joined=frozenset(
        {
            "authaltparameters",
            "authinfo",
            "communicationparameters",
            "launchparameters",
            "schedulerparameters",
            "slurmctldparameters",
            "slurmdparameters",
        }
    ),
    removed={
        "accountingstorejobcomment": "write AccountingStoreFlags=job_comment",
        "sallocdefaultcommand": "write LaunchParameters=use_interactive_step",
    },
)

CGROUP_CONF: Final = Format(file="cgroup.conf", parameters=CGROUP)

GRES_CONF: Final = Format(
    file="gres.conf",
    parameters=table(text="AutoDetect"),
    records={"Name": GRES, "NodeName": GRES},
)

SLURMDBD_CONF: Final = Format(
    file="slurmdbd.conf",
    parameters=SLURMDBD,
    joined=frozenset({"authaltparameters", "authinfo", "communicationparameters"}),
)
