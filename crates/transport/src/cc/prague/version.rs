//! Prague's versions.

/// Which Prague.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// L4STeam/linux e741f5ac: the classic-ECN detector acts, losses do not stop growth.
    April2020,
    /// The same with the loss rule of August, as in the L4S team's own runs of 25 April 2020.
    April2020Fixed,
    /// L4STeam/linux b256daed, of 4 August 2020: no detector.
    August2020,
    /// Of November 2020, still of 5.4. Its text is not stored. It is 2021's, but sends single packets: the ICCRG's runs tell
    /// it from August's and from 2021's (docs/validation.md).
    November2020,
    /// Of 2021, module version 0.6: RTT independence after 500 rounds.
    Year2021,
    /// Module version 0.7 as in the 5.15.72 of 2024, with the detector of classic queues in it, but off.
    Early0_7,
    /// Module version 0.7, of 2024 and later.
    V0_7,
}
