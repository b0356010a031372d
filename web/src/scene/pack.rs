//! A scene put away: its requests as few bytes. They are most of a scene, and most of what one of them holds is room for
//! steps that it has not taken.

use super::lists::Lists;
use super::request::{Request, Span, Step};
use super::{FINISHED_MAX, Scene, Serials};
use mqscope_core::event::{Extent, Flags, Op};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A copy of a scene that [`Packed::unpack`] makes a scene again, in every respect the same.
pub struct Packed {
    /// Without requests.
    scene: Scene,
    lists: Lists,
    /// Requests, finished ones, and which serial numbers are in which slot.
    bytes: Box<[u8]>,
    finished: usize,
    /// Capacities of the maps of serial numbers.
    rooms: [usize; 2],
}

/// Where bytes are put, with room for all of them: growing by single bytes would take most of the time.
struct Room {
    bytes: Vec<u8>,
    len: usize,
}

impl Room {
    fn put(&mut self, value: &impl Serialize) {
        let room = &mut self.bytes[self.len..];
        let put = postcard::to_slice(value, room).unwrap_or_else(|e| unreachable!("there is room: {e}"));
        self.len += put.len();
    }

    fn put_request(&mut self, request: &Request) {
        let Extent { op, flags, sector, sectors } = request.extent;
        self.put(&(request, (op, flags, sector, sectors), request.steps(), request.spans()));
    }

    fn put_serials(&mut self, serials: &Serials) {
        let mut all: Vec<(u32, u32)> = serials.iter().map(|(serial, slot)| (*serial, *slot)).collect();
        all.sort_unstable();
        self.put(&all);
    }
}

fn take<T: DeserializeOwned>(bytes: &mut &[u8]) -> T {
    let (value, rest) =
        postcard::take_from_bytes(bytes).unwrap_or_else(|e| unreachable!("they were written here: {e}"));
    *bytes = rest;
    value
}

fn take_request(bytes: &mut &[u8]) -> Request {
    type Parts = (Request, (Op, Flags, u64, u32), Vec<Step>, Vec<Span>);
    let (mut request, (op, flags, sector, sectors), steps, spans): Parts = take(bytes);
    request.extent = Extent { op, flags, sector, sectors };
    steps.into_iter().for_each(|step| request.push_step(step));
    spans.into_iter().for_each(|span| request.push_span(span));
    request
}

fn take_serials(bytes: &mut &[u8], room: usize) -> Serials {
    let all: Vec<(u32, u32)> = take(bytes);
    let mut serials = Serials::with_capacity_and_hasher(room, Default::default());
    serials.extend(all);
    serials
}

impl Scene {
    /// Puts it away.
    pub fn pack(&self) -> Packed {
        // No request takes more bytes than it has, give or take those that a number may take more.
        let requests = self.lists.live_len() + self.finished.len();
        let serials = self.requests.len() + self.bios.len();
        let most = requests * size_of::<Request>() * 5 / 4 + serials * 10 + 64;
        let mut room = Room { bytes: vec![0; most], len: 0 };
        self.lists.all().for_each(|(_, request)| room.put_request(request));
        self.finished.iter().for_each(|request| room.put_request(request));
        room.put_serials(&self.requests);
        room.put_serials(&self.bios);
        let scene = Scene {
            topology: self.topology.clone(),
            names: self.names,
            lists: Lists::new(0, 0),
            requests: Serials::default(),
            bios: Serials::default(),
            cpus: self.cpus.clone(),
            tasks: self.tasks.clone(),
            objects: self.objects.clone(),
            hctxs: self.hctxs.clone(),
            queues: self.queues.clone(),
            finished: Default::default(),
            transfers: self.transfers.clone(),
            merges: self.merges.clone(),
            window: self.window,
            ..*self
        };
        Packed {
            scene,
            lists: self.lists.hollow(),
            bytes: room.bytes[..room.len].into(),
            finished: self.finished.len(),
            rooms: [self.requests.capacity(), self.bios.capacity()],
        }
    }
}

impl Packed {
    /// The scene as it was.
    pub fn unpack(&self) -> Scene {
        let mut bytes = &*self.bytes;
        let mut scene = self.scene.clone();
        scene.lists = self.lists.filled(|| take_request(&mut bytes));
        scene.finished.reserve(FINISHED_MAX);
        scene.finished.extend((0..self.finished).map(|_| take_request(&mut bytes)));
        scene.requests = take_serials(&mut bytes, self.rooms[0]);
        scene.bios = take_serials(&mut bytes, self.rooms[1]);
        scene
    }

    /// Bytes on the heap, about.
    pub fn bytes(&self) -> usize {
        self.scene.bytes_but_requests() + self.lists.bytes() + self.bytes.len() + size_of::<Self>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mqscope_core::Sim;
    use mqscope_core::cases::cases;
    use std::fmt::Write;
    use std::rc::Rc;

    /// Everything that can be asked of a scene.
    fn told(scene: &Scene) -> String {
        let mut all = format!(
            "{:?} {:?} {:?} {:?} {:?} {:?} {:?}",
            (scene.now_ns(), scene.half_ns(), scene.slots(), scene.finished_count(), scene.strays()),
            (scene.cpus(), scene.tasks(), scene.objects()),
            (scene.hctxs(), scene.queues(), scene.names),
            scene.rates(),
            scene.finished().collect::<Vec<_>>(),
            scene.transfers().collect::<Vec<_>>(),
            scene.merges().collect::<Vec<_>>(),
        );
        for (slot, request) in scene.live() {
            let place: Vec<_> =
                scene.standing_at(super::super::Standing::of(request)).map(|(s, _)| s).collect();
            let (bio, rq) = (scene.of_bio(request.bio).map(|r| r.rq), scene.slot_of(request.rq));
            let _ = write!(all, "\n{slot} {request:?} {place:?} {bio:?} {rq:?}");
        }
        all
    }

    #[test]
    fn a_scene_that_was_put_away_is_the_same_and_goes_on_in_the_same_way() {
        for case in cases() {
            let Some((label, scenario)) = case.sides().pop() else { continue };
            let mut sim = Sim::new(&scenario).expect("the case can be built");
            sim.log_mut().set_on(true);
            let mut scene = Scene::new(Rc::new(sim.topology().clone()), sim.knobs(), 125_000);
            let mut go_on = |scenes: &mut [&mut Scene], events: usize| {
                let mut done = 0;
                while done < events && sim.step() {
                    for event in sim.log().events() {
                        scenes.iter_mut().for_each(|scene| scene.apply(event));
                    }
                    done += sim.log().events().len();
                    sim.log_mut().clear();
                }
            };
            go_on(&mut [&mut scene], 20_000);
            let mut again = scene.pack().unpack();
            assert!(told(&again) == told(&scene), "{} ({label})", case.name);
            go_on(&mut [&mut scene, &mut again], 5_000);
            assert!(told(&again) == told(&scene), "{} ({label}), later", case.name);
        }
    }
}
